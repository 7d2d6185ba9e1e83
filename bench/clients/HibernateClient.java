import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.*;
import java.util.*;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.*;
import org.hibernate.cfg.Configuration;
import org.hibernate.type.SqlTypes;

/** Hibernate: create, update and validate of the schema, associations, versions, locks, JPQL, batches, types. */
public class HibernateClient {
    @Entity(name = "Author") @jakarta.persistence.Table(name = "hb_author", indexes = @jakarta.persistence.Index(columnList = "name, born"))
    public static class Author {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) public Long id;
        @jakarta.persistence.Column(unique = true, nullable = false, length = 60) public String name;
        @Enumerated(EnumType.STRING) public Kind kind;
        public LocalDate born;
        public Instant made;
        public LocalDateTime local;
        public LocalTime hour;
        public Duration span;
        public UUID key;
        @jakarta.persistence.Column(precision = 12, scale = 2) public BigDecimal money;
        public Double ratio;
        public boolean active;
        public byte[] raw;
        public String text;
        public String[] tags;
        @Version public int version;
        @OneToMany(mappedBy = "author", cascade = jakarta.persistence.CascadeType.ALL, orphanRemoval = true) public List<Book> books = new ArrayList<>();
        @ElementCollection @CollectionTable(name = "hb_phones") public Set<String> phones = new HashSet<>();
    }
    public enum Kind { POET, NOVELIST }

    @Entity(name = "Book") @jakarta.persistence.Table(name = "hb_book") @Inheritance(strategy = InheritanceType.JOINED)
    public static class Book {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) public Long id;
        public String title;
        public int pages;
        @ManyToOne(optional = false, fetch = FetchType.LAZY) @OnDelete(action = OnDeleteAction.CASCADE) public Author author;
        @ManyToMany @JoinTable(name = "hb_book_tag") public Set<Tag> tags = new HashSet<>();
    }
    @Entity(name = "Novel") @jakarta.persistence.Table(name = "hb_novel")
    public static class Novel extends Book { public String hero; }
    @Entity(name = "Tag") @jakarta.persistence.Table(name = "hb_tag")
    public static class Tag { @Id public String label; }

    static void check(boolean good, String what) {
        if (!good) throw new IllegalStateException(what);
    }

    static SessionFactory factory(String url, String schema) {
        var configuration = new Configuration().addAnnotatedClass(Author.class).addAnnotatedClass(Book.class).addAnnotatedClass(Novel.class).addAnnotatedClass(Tag.class);
        configuration.setProperty("hibernate.connection.url", url).setProperty("hibernate.connection.username", "tester").setProperty("hibernate.hbm2ddl.auto", schema)
            .setProperty("hibernate.jdbc.batch_size", "20").setProperty("hibernate.hbm2ddl.halt_on_error", "true");
        if (System.getenv("LOG") != null) configuration.setProperty("hibernate.show_sql", "true");
        return configuration.buildSessionFactory();
    }

    public static void main(String[] arguments) {
        String url = arguments[0];
        factory(url, "create").close();
        factory(url, "update").close();
        try (SessionFactory factory = factory(url, "validate")) {
            Long id = factory.fromTransaction(session -> {
                Author ada = new Author();
                ada.name = "Ada"; ada.kind = Kind.NOVELIST; ada.born = LocalDate.of(1815, 12, 10); ada.made = Instant.parse("2026-01-02T03:04:05.678901Z");
                ada.local = LocalDateTime.of(2026, 2, 3, 4, 5); ada.hour = LocalTime.of(10, 11, 12); ada.span = Duration.ofHours(30); ada.key = UUID.randomUUID();
                ada.money = new BigDecimal("12.50"); ada.ratio = 0.1; ada.active = true; ada.raw = new byte[] {0, -1}; ada.tags = new String[] {"a", "b c"};
                ada.phones.add("1"); ada.phones.add("2");
                Tag tag = new Tag(); tag.label = "new"; session.persist(tag);
                for (int i = 0; i < 50; i++) {
                    Book book = i % 2 == 0 ? new Book() : new Novel();
                    book.title = "book " + i; book.pages = i; book.author = ada; book.tags.add(tag);
                    ada.books.add(book);
                }
                session.persist(ada);
                return ada.id;
            });
            factory.inTransaction(session -> {
                Author ada = session.createQuery("select a from Author a join fetch a.books where a.name like :n", Author.class).setParameter("n", "A%").getSingleResult();
                check(ada.books.size() == 50 && ada.money.equals(new BigDecimal("12.50")) && ada.made.equals(Instant.parse("2026-01-02T03:04:05.678901Z")), "the author");
                check(ada.tags[1].equals("b c") && ada.raw[1] == -1 && ada.span.equals(Duration.ofHours(30)) && ada.phones.size() == 2 && ada.hour.equals(LocalTime.of(10, 11, 12)), "its values");
                ada.ratio = 0.2;
                ada.books.remove(0);
            });
            factory.inTransaction(session -> {
                Author locked = session.find(Author.class, id, LockModeType.PESSIMISTIC_WRITE);
                check(locked.version >= 1 && locked.books.size() == 49, "a version");
                var groups = session.createQuery("select type(b), count(b), sum(b.pages) from Book b group by type(b) order by count(b) desc", Object[].class).getResultList();
                check(groups.size() == 2, "groups");
                check(session.createQuery("select b from Book b where b.pages > (select avg(c.pages) from Book c) order by b.title", Book.class).setFirstResult(2).setMaxResults(5).getResultList().size() == 5, "a page");
                check(session.createQuery("select b.title from Book b where :t member of b.tags and extract(year from b.author.born) = 1815", String.class).setParameter("t", session.getReference(Tag.class, "new")).getResultList().size() == 49, "members");
            });
            Author stale = factory.fromSession(session -> session.find(Author.class, id));
            factory.inTransaction(session -> session.find(Author.class, id).ratio = 0.3);
            stale.ratio = 0.4;
            try {
                factory.inTransaction(session -> session.merge(stale));
                throw new IllegalStateException("a stale version is written");
            } catch (OptimisticLockException expected) {
            }
            try {
                factory.inTransaction(session -> { Author other = new Author(); other.name = "Ada"; session.persist(other); });
                throw new IllegalStateException("a name is there twice");
            } catch (org.hibernate.exception.ConstraintViolationException expected) {
                check(expected.getConstraintName() != null, "the constraint's name");
            }
            factory.inTransaction(session -> session.createNativeMutationQuery("delete from hb_phones").executeUpdate());
            factory.inTransaction(session -> session.remove(session.find(Author.class, id)));
            check(factory.fromSession(session -> session.createQuery("select count(*) from Book", Long.class).getSingleResult()) == 0, "orphans");
        }
        factory(url, "create-drop").close();
        System.out.println("hibernate ok");
    }
}
