import static org.jooq.impl.DSL.*;

import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Instant;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import liquibase.Contexts;
import liquibase.Liquibase;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.LabelExpression;
import liquibase.resource.DirectoryResourceAccessor;
import liquibase.snapshot.SnapshotControl;
import liquibase.snapshot.SnapshotGeneratorFactory;
import liquibase.structure.core.ForeignKey;
import liquibase.structure.core.Sequence;
import org.apache.ibatis.annotations.*;
import org.apache.ibatis.mapping.Environment;
import org.apache.ibatis.session.ExecutorType;
import org.apache.ibatis.session.SqlSessionFactoryBuilder;
import org.apache.ibatis.transaction.jdbc.JdbcTransactionFactory;
import org.jooq.JSONB;
import org.jooq.SQLDialect;
import org.jooq.exception.IntegrityConstraintViolationException;
import org.jooq.impl.SQLDataType;
import org.jooq.meta.postgres.PostgresDatabase;
import org.postgresql.ds.PGSimpleDataSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.annotation.Id;
import org.springframework.data.annotation.Version;
import org.springframework.data.domain.PageRequest;
import org.springframework.data.domain.Sort;
import org.springframework.data.jdbc.repository.config.AbstractJdbcConfiguration;
import org.springframework.data.jdbc.repository.config.EnableJdbcRepositories;
import org.springframework.data.jdbc.repository.query.Modifying;
import org.springframework.data.jdbc.repository.query.Query;
import org.springframework.data.relational.core.mapping.MappedCollection;
import org.springframework.data.relational.core.mapping.Table;
import org.springframework.data.repository.ListCrudRepository;
import org.springframework.data.repository.PagingAndSortingRepository;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Further libraries of Java on PostgreSQL, each with its everyday calls: java JavaLibraries URL NAME. jOOQ and its generator's
 * queries, MyBatis, Liquibase, Spring Data JDBC. A control is the same with the address of a PostgreSQL 15.
 */
public class JavaLibraries {
    static void check(boolean good, Object what) {
        if (!good) throw new IllegalStateException(String.valueOf(what));
    }

    static void same(Object got, Object expected) {
        check(got.equals(expected), "got " + got + ", expected " + expected);
    }

    static void run(Connection connection, String... statements) throws Exception {
        try (var statement = connection.createStatement()) {
            for (String text : statements) statement.execute(text);
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (Connection connection = DriverManager.getConnection(arguments[0], "tester", "")) {
            switch (arguments[1]) {
                case "jooq" -> jooq(connection);
                case "mybatis" -> mybatis(connection, arguments[0]);
                case "liquibase" -> liquibase(connection);
                default -> spring(connection, arguments[0]);
            }
        }
        System.out.println(arguments[1] + " ok");
    }

    /** jOOQ: tables, upserts, nested results by JSON, windows, MERGE, batches, savepoints, and the catalogue for its generator. */
    static void jooq(Connection connection) throws Exception {
        run(connection, "DROP SCHEMA IF EXISTS jq CASCADE", "CREATE SCHEMA jq", "SET search_path TO jq");
        var db = using(connection, SQLDialect.POSTGRES);
        var people = table(name("people"));
        var id = field(name("people", "id"), SQLDataType.BIGINT.identity(true));
        var label = field(name("people", "name"), SQLDataType.VARCHAR(60).nullable(false));
        var data = field(name("people", "data"), SQLDataType.JSONB);
        var tags = field(name("people", "tags"), SQLDataType.VARCHAR.array());
        var money = field(name("people", "money"), SQLDataType.DECIMAL(12, 2));
        var day = field(name("people", "day"), SQLDataType.LOCALDATE);
        var at = field(name("people", "at"), SQLDataType.OFFSETDATETIME);
        var key = field(name("people", "key"), SQLDataType.UUID);
        db.createTableIfNotExists(people).column("id", SQLDataType.BIGINT.identity(true)).column("name", SQLDataType.VARCHAR(60).nullable(false)).column("data", SQLDataType.JSONB).column("tags", SQLDataType.VARCHAR.array())
            .column("money", SQLDataType.DECIMAL(12, 2)).column("day", SQLDataType.LOCALDATE).column("at", SQLDataType.OFFSETDATETIME.defaultValue(currentOffsetDateTime())).column("key", SQLDataType.UUID)
            .constraints(primaryKey("id"), unique("name"), constraint("money_small").check(field("money").lt(inline(new BigDecimal(1000))))).execute();
        db.createTable("pets").column("id", SQLDataType.INTEGER.identity(true)).column("owner", SQLDataType.BIGINT).column("kind", SQLDataType.VARCHAR)
            .constraints(primaryKey("id"), foreignKey("owner").references("people", "id").onDeleteCascade()).execute();
        db.createType("mood").asEnum("sad", "ok").execute();
        db.createIndex("people_day").on(people, day.desc()).where(day.isNotNull()).execute();
        run(connection, "CREATE DOMAIN short AS varchar(5) CHECK (VALUE <> '')", "CREATE VIEW names AS SELECT name FROM people", "CREATE FUNCTION twice(a int) RETURNS int LANGUAGE sql AS 'SELECT a * 2'",
            "ALTER TABLE people ADD COLUMN mood mood DEFAULT 'ok', ADD COLUMN short short, ADD COLUMN upper text GENERATED ALWAYS AS (upper(name)) STORED", "COMMENT ON TABLE people IS 'the people'", "CREATE SEQUENCE free START 5",
            "CREATE MATERIALIZED VIEW kept AS SELECT 1 AS one", "ALTER TABLE pets ADD COLUMN owners bigint[]");
        var uuid = UUID.randomUUID();
        var ada = db.insertInto(people, label, data, tags, money, day, key).values("Ada", JSONB.valueOf("{\"a\": [1]}"), new String[] {"x", "y"}, new BigDecimal("12.50"), LocalDate.of(1815, 12, 10), uuid).returningResult(id, at).fetchOne();
        check(ada.value1() == 1 && ada.value2() != null, ada);
        db.insertInto(people, label, money).values("Ada", new BigDecimal(20)).values("Bob", BigDecimal.ONE).onConflict(label).doUpdate().set(money, excluded(money)).execute();
        var kind = field(name("pets", "kind"), String.class);
        var owner = field(name("pets", "owner"), Long.class);
        var pets = table(name("pets"));
        db.batch(db.insertInto(pets, owner, kind).values((Long) null, null)).bind(1L, "cat").bind(1L, "dog").execute();
        var nested = db.select(label, multiset(select(kind).from(pets).where(owner.eq(id)).orderBy(kind)).as("pets")).from(people).orderBy(label).fetch();
        same(nested.get(0).get("pets", org.jooq.Result.class).size(), 2);
        same(db.select(label, count(kind), rowNumber().over(orderBy(label)), sum(money).filterWhere(money.gt(BigDecimal.ONE))).from(people).leftJoin(pets).on(owner.eq(id)).groupBy(label).orderBy(label).fetch(1), List.of(2, 0));
        same(db.select(jsonbArrayAgg(label).orderBy(label), listAgg(label, ",").withinGroupOrderBy(label), arrayAgg(label).orderBy(label)).from(people).fetchOne().value2(), "Ada,Bob");
        same(db.fetchCount(people, condition("{0} @> {1}", data, val(JSONB.valueOf("{\"a\": [1]}"))).and(val("x").eq(any(tags)))), 1);
        db.mergeInto(people).using(selectOne()).on(label.eq("Eve")).whenMatchedThenUpdate().set(money, BigDecimal.ZERO).whenNotMatchedThenInsert(label).values("Eve").execute();
        same(db.withRecursive("t", "n").as(select(val(1)).unionAll(select(field("n", Integer.class).add(1)).from(table(name("t"))).where(field("n", Integer.class).lt(5)))).select(sum(field("n", Integer.class))).from(table(name("t"))).fetchOne().value1(), BigDecimal.valueOf(15));
        same(db.selectFrom(values(row(1, "a"), row(2, "b")).as("v", "i", "s")).fetch().size(), 2);
        db.transaction(outer -> {
            try {
                outer.dsl().transaction(inner -> {
                    inner.dsl().deleteFrom(people).execute();
                    throw new IllegalArgumentException();
                });
            } catch (IllegalArgumentException expected) {
            }
            same(outer.dsl().select(label).from(people).orderBy(label).forUpdate().skipLocked().fetch(label), List.of("Ada", "Bob", "Eve"));
        });
        try {
            db.insertInto(people, label).values("Ada").execute();
            check(false, "a duplicate");
        } catch (IntegrityConstraintViolationException expected) {
            same(expected.sqlState(), "23505");
        }
        same(db.update(people).set(money, money.plus(1)).where(label.in("Ada", "Bob")).returning(money).fetch(money), List.of(new BigDecimal("21.00"), new BigDecimal("2.00")));
        try (var cursor = db.selectFrom(people).fetchSize(1).fetchLazy()) {
            int n = 0;
            while (cursor.hasNext()) n += cursor.fetchNext() == null ? 0 : 1;
            same(n, 3);
        }
        db.alterTable(pets).addColumn("extra", SQLDataType.BIGINT.defaultValue(3L)).execute();
        db.alterTable(pets).alterColumn("extra").set(SQLDataType.VARCHAR).execute();
        db.alterTable(pets).dropColumn("extra").execute();
        var meta = db.meta().getSchemas("jq").get(0);
        check(meta.getTables().stream().anyMatch(table -> table.getName().equals("people") && table.getPrimaryKey() != null && table.fields().length == 11), meta.getTables());
        check(meta.getTables().stream().anyMatch(table -> table.getName().equals("pets") && !table.getReferences().isEmpty()), "references");
        check(!db.meta().ddl(org.jooq.DDLExportConfiguration.class.getConstructor().newInstance().flags(org.jooq.DDLFlag.TABLE)).toString().isEmpty(), "DDL");
        var generated = new PostgresDatabase();
        generated.setConnection(connection);
        generated.setConfiguredSchemata(List.of(new org.jooq.meta.jaxb.SchemaMappingType().withInputSchema("jq")));
        generated.setConfiguredCatalogs(List.of());
        generated.setIncludes(new String[] {".*"});
        generated.setExcludes(new String[0]);
        generated.setIncludeUniqueKeys(true);
        generated.setIncludePrimaryKeys(true);
        generated.setIncludeForeignKeys(true);
        generated.setIncludeIndexes(true);
        generated.setIncludeCheckConstraints(true);
        generated.setIncludeRoutines(true);
        generated.setIncludeTriggerRoutines(true);
        generated.setIncludeSequences(true);
        generated.setIncludeDomains(true);
        generated.setIncludeUDTs(true);
        generated.setIncludePackages(true);
        generated.setIncludeTables(true);
        generated.setIncludeEmbeddables(true);
        generated.setRegexMatchesPartialQualification(true);
        var schema = generated.getSchemata().get(0);
        same(generated.getTables(schema).stream().map(table -> table.getName()).sorted().toList(), List.of("kept", "names", "people", "pets"));
        same(generated.getTable(schema, "people").getColumns().size(), 11);
        same(generated.getTable(schema, "people").getPrimaryKey().getKeyColumns().size(), 1);
        same(generated.getTable(schema, "pets").getForeignKeys().size(), 1);
        same(generated.getTable(schema, "people").getIndexes().size() > 0, true);
        same(generated.getTable(schema, "people").getCheckConstraints().size(), 1);
        same(generated.getEnums(schema).get(0).getLiterals(), List.of("sad", "ok"));
        same(generated.getDomains(schema).get(0).getName(), "short");
        same(generated.getRoutines(schema).get(0).getName(), "twice");
        check(generated.getSequences(schema).stream().anyMatch(sequence -> sequence.getName().equals("free")), "sequence");
        generated.getUDTs(schema);
        run(connection, "DROP SCHEMA jq CASCADE");
    }

    public record MyPerson(Integer id, String name, Instant made, BigDecimal money) {}

    @Mapper
    interface MyPeople {
        @Insert("INSERT INTO mb_people (name, money, data) VALUES (#{name}, #{money}, #{data}::jsonb)")
        @Options(useGeneratedKeys = true, keyProperty = "id", keyColumn = "id")
        int add(Map<String, Object> person);

        @Select("<script>SELECT * FROM mb_people WHERE id IN <foreach item='i' collection='ids' open='(' separator=',' close=')'>#{i}</foreach> <if test='like != null'>AND name LIKE #{like}</if> ORDER BY id</script>")
        List<Map<String, Object>> some(@Param("ids") List<Integer> ids, @Param("like") String like);

        @Insert("<script>INSERT INTO mb_people (name) VALUES <foreach item='n' collection='names' separator=','>(#{n})</foreach> ON CONFLICT (name) DO NOTHING</script>")
        int many(@Param("names") List<String> names);

        @Update("UPDATE mb_people SET money = money + #{by} WHERE name = #{name}")
        int raise(@Param("name") String name, @Param("by") BigDecimal by);

        @Select("SELECT * FROM mb_people WHERE name = #{name} FOR UPDATE")
        @ConstructorArgs({@Arg(column = "id", javaType = Integer.class, id = true), @Arg(column = "name", javaType = String.class), @Arg(column = "made", javaType = Instant.class), @Arg(column = "money", javaType = BigDecimal.class)})
        MyPerson named(String name);

        @Select("SELECT name FROM mb_people ORDER BY id")
        @Options(fetchSize = 10)
        org.apache.ibatis.cursor.Cursor<String> names();
    }

    /** MyBatis: mappers with dynamic SQL, generated keys, batches, cursors. */
    static void mybatis(Connection connection, String url) throws Exception {
        run(connection, "DROP TABLE IF EXISTS mb_people", "CREATE TABLE mb_people (id serial PRIMARY KEY, name text UNIQUE, money numeric(12,2) DEFAULT 0, made timestamptz DEFAULT now(), data jsonb)");
        var source = new PGSimpleDataSource();
        source.setUrl(url);
        source.setUser("tester");
        var configuration = new org.apache.ibatis.session.Configuration(new Environment("test", new JdbcTransactionFactory(), source));
        configuration.getTypeHandlerRegistry().register(Instant.class, new org.apache.ibatis.type.BaseTypeHandler<Instant>() {
            public void setNonNullParameter(java.sql.PreparedStatement s, int i, Instant value, org.apache.ibatis.type.JdbcType type) throws java.sql.SQLException { s.setTimestamp(i, java.sql.Timestamp.from(value)); }
            public Instant getNullableResult(java.sql.ResultSet r, String name) throws java.sql.SQLException { return r.getTimestamp(name).toInstant(); }
            public Instant getNullableResult(java.sql.ResultSet r, int i) throws java.sql.SQLException { return r.getTimestamp(i).toInstant(); }
            public Instant getNullableResult(java.sql.CallableStatement c, int i) throws java.sql.SQLException { return c.getTimestamp(i).toInstant(); }
        });
        configuration.addMapper(MyPeople.class);
        var factory = new SqlSessionFactoryBuilder().build(configuration);
        try (var session = factory.openSession()) {
            var people = session.getMapper(MyPeople.class);
            var ada = new java.util.HashMap<String, Object>(Map.of("name", "Ada", "money", new BigDecimal("2.50"), "data", "{\"a\": 1}"));
            same(people.add(ada), 1);
            same(ada.get("id"), 1);
            same(people.many(List.of("Ada", "Bob", "Eve")), 2);
            session.commit();
            same(people.raise("Ada", BigDecimal.ONE), 1);
            session.rollback();
            same(people.some(List.of(1, 2), "A%").get(0).get("money"), new BigDecimal("2.50"));
            same(people.named("Ada").money(), new BigDecimal("2.50"));
            session.commit();
        }
        try (var session = factory.openSession(ExecutorType.BATCH)) {
            var people = session.getMapper(MyPeople.class);
            for (int i = 0; i < 100; i++) people.raise("Bob", BigDecimal.ONE);
            session.commit();
            var names = new ArrayList<String>();
            try (var cursor = people.names()) {
                cursor.forEach(names::add);
            }
            same(names.size(), 3);
        }
        run(connection, "DROP TABLE mb_people");
    }

    /** Liquibase: its lock, changes of all kinds, rollback, a snapshot and the difference of it. */
    static void liquibase(Connection connection) throws Exception {
        run(connection, "DROP TABLE IF EXISTS lb_orders, lb_people, databasechangelog, databasechangeloglock CASCADE", "DROP SEQUENCE IF EXISTS lb_numbers");
        Path folder = Files.createTempDirectory("liquibase");
        Files.writeString(folder.resolve("log.xml"), """
            <databaseChangeLog xmlns="http://www.liquibase.org/xml/ns/dbchangelog" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.liquibase.org/xml/ns/dbchangelog http://www.liquibase.org/xml/ns/dbchangelog/dbchangelog-latest.xsd">
              <changeSet id="1" author="a">
                <createSequence sequenceName="lb_numbers" startValue="10" incrementBy="5"/>
                <createTable tableName="lb_people" remarks="people">
                  <column name="id" type="bigint" autoIncrement="true"><constraints primaryKey="true" primaryKeyName="lb_people_key"/></column>
                  <column name="name" type="varchar(60)" remarks="full"><constraints nullable="false" unique="true" uniqueConstraintName="lb_name"/></column>
                  <column name="born" type="date"/><column name="made" type="timestamp with time zone" defaultValueComputed="now()"/>
                  <column name="good" type="boolean" defaultValueBoolean="true"/><column name="raw" type="blob"/><column name="text" type="clob"/><column name="key" type="uuid"/>
                </createTable>
                <createTable tableName="lb_orders">
                  <column name="id" type="int" autoIncrement="true" generationType="ALWAYS"><constraints primaryKey="true"/></column>
                  <column name="person" type="bigint"/><column name="total" type="decimal(12,2)" defaultValueNumeric="0"/>
                </createTable>
                <addForeignKeyConstraint baseTableName="lb_orders" baseColumnNames="person" constraintName="lb_person" referencedTableName="lb_people" referencedColumnNames="id" onDelete="CASCADE" deferrable="true" initiallyDeferred="true"/>
                <createIndex indexName="lb_born" tableName="lb_people"><column name="born" descending="true"/></createIndex>
              </changeSet>
              <changeSet id="2" author="a">
                <preConditions onFail="MARK_RAN"><tableExists tableName="lb_people"/><not><columnExists tableName="lb_people" columnName="age"/></not><not><indexExists indexName="lb_none"/></not><foreignKeyConstraintExists foreignKeyTableName="lb_orders" foreignKeyName="lb_person"/><sqlCheck expectedResult="0">SELECT count(*) FROM lb_people</sqlCheck></preConditions>
                <insert tableName="lb_people"><column name="name" value="Ada"/></insert>
                <addColumn tableName="lb_people"><column name="age" type="int" valueNumeric="3"><constraints nullable="false"/></column></addColumn>
                <renameColumn tableName="lb_people" oldColumnName="text" newColumnName="note"/>
                <modifyDataType tableName="lb_people" columnName="age" newDataType="bigint"/>
                <addDefaultValue tableName="lb_people" columnName="age" defaultValueNumeric="7"/>
                <addNotNullConstraint tableName="lb_people" columnName="good"/>
                <dropNotNullConstraint tableName="lb_people" columnName="good"/>
                <createView viewName="lb_view" replaceIfExists="true">SELECT id, name FROM lb_people</createView>
                <createProcedure>CREATE OR REPLACE FUNCTION lb_f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$</createProcedure>
                <sql splitStatements="true">UPDATE lb_people SET age = 4; CREATE INDEX lb_low ON lb_people (lower(name))</sql>
                <rollback><dropView viewName="lb_view"/><sql>DROP FUNCTION lb_f(); DROP INDEX lb_low</sql><dropColumn tableName="lb_people" columnName="age"/><renameColumn tableName="lb_people" oldColumnName="note" newColumnName="text"/><delete tableName="lb_people"/></rollback>
              </changeSet>
            </databaseChangeLog>
            """);
        var database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
        var liquibase = new Liquibase("log.xml", new DirectoryResourceAccessor(folder), database);
        liquibase.update(new Contexts());
        same(liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()).size(), 0);
        liquibase.update(new Contexts());
        liquibase.rollback(1, "");
        liquibase.update(new Contexts());
        liquibase.tag("done");
        check(liquibase.tagExists("done"), "the tag");
        liquibase.validate();
        same(liquibase.listLocks().length, 0);
        var snapshot = SnapshotGeneratorFactory.getInstance().createSnapshot(database.getDefaultSchema(), database, new SnapshotControl(database));
        check(snapshot.get(liquibase.structure.core.Table.class).stream().anyMatch(table -> table.getName().equals("lb_people") && table.getColumns().size() >= 8 && table.getPrimaryKey() != null), snapshot.get(liquibase.structure.core.Table.class).stream().filter(table -> table.getName().startsWith("lb_")).map(table -> table.getName() + table.getColumns().size()).toList());
        check(snapshot.get(ForeignKey.class).stream().anyMatch(key -> key.getName().equals("lb_person")), "foreign keys");
        check(snapshot.get(Sequence.class).stream().anyMatch(sequence -> sequence.getName().equals("lb_numbers")), "sequences");
        liquibase.dropAll();
        database.commit();
        connection.setAutoCommit(true);
    }

    @Table("sd_people")
    static class SpringPerson {
        @Id Long id;
        String name;
        BigDecimal money;
        Instant made;
        Set<String> tags;
        @Version int version;
        @MappedCollection(idColumn = "person", keyColumn = "place") List<SpringPet> pets = new ArrayList<>();
    }

    @Table("sd_pets")
    static class SpringPet {
        @Id Long id;
        String kind;
    }

    interface SpringPeople extends ListCrudRepository<SpringPerson, Long>, PagingAndSortingRepository<SpringPerson, Long> {
        Optional<SpringPerson> findByName(String name);

        List<SpringPerson> findByMoneyGreaterThanOrderByNameDesc(BigDecimal money);

        boolean existsByName(String name);

        @org.springframework.data.relational.repository.Lock(org.springframework.data.relational.core.sql.LockMode.PESSIMISTIC_WRITE)
        List<SpringPerson> findByNameStartingWith(String name);

        @Modifying
        @Query("UPDATE sd_people SET money = money + :by WHERE name = :name")
        int raise(String name, BigDecimal by);
    }

    static String place;

    @Configuration
    @EnableJdbcRepositories(considerNestedRepositories = true)
    static class SpringSettings extends AbstractJdbcConfiguration {
        @Bean javax.sql.DataSource source() {
            var source = new PGSimpleDataSource();
            source.setUrl(place);
            source.setUser("tester");
            return source;
        }

        @Bean NamedParameterJdbcTemplate namedParameterJdbcOperations(javax.sql.DataSource source) {
            return new NamedParameterJdbcTemplate(source);
        }

        @Bean PlatformTransactionManager transactionManager(javax.sql.DataSource source) {
            return new DataSourceTransactionManager(source);
        }
    }

    /** Spring Data JDBC: repositories, aggregates, derived queries, versions, pages, locks, nested transactions. */
    static void spring(Connection connection, String url) throws Exception {
        run(connection, "DROP TABLE IF EXISTS sd_pets, sd_people", "CREATE TABLE sd_people (id bigserial PRIMARY KEY, name text UNIQUE, money numeric(12,2), made timestamptz, tags text[], version int)",
            "CREATE TABLE sd_pets (id bigserial PRIMARY KEY, person bigint REFERENCES sd_people, place int, kind text)");
        place = url;
        try (var context = new AnnotationConfigApplicationContext(SpringSettings.class)) {
            var people = context.getBean(SpringPeople.class);
            var ada = new SpringPerson();
            ada.name = "Ada";
            ada.money = new BigDecimal("2.50");
            ada.made = Instant.parse("2026-03-04T05:06:07Z");
            ada.tags = Set.of("x");
            var cat = new SpringPet();
            cat.kind = "cat";
            ada.pets.add(cat);
            ada = people.save(ada);
            var found = people.findByName("Ada").orElseThrow();
            same(List.of(found.pets.get(0).kind, found.made, found.tags), List.of("cat", ada.made, Set.of("x")));
            found.money = BigDecimal.TEN;
            people.save(found);
            try {
                people.save(ada);
                check(false, "an old version");
            } catch (org.springframework.dao.OptimisticLockingFailureException expected) {
            }
            var many = new ArrayList<SpringPerson>();
            for (int i = 0; i < 50; i++) {
                var person = new SpringPerson();
                person.name = "p" + i;
                person.money = BigDecimal.valueOf(i);
                many.add(person);
            }
            people.saveAll(many);
            same(people.findAll(PageRequest.of(1, 10, Sort.by("name"))).getTotalElements(), 51L);
            same(people.findByMoneyGreaterThanOrderByNameDesc(BigDecimal.valueOf(47)).size(), 2);
            check(people.existsByName("p3") && people.raise("p3", BigDecimal.ONE) == 1, "raised");
            var transactions = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
            transactions.executeWithoutResult(outer -> {
                same(people.findByNameStartingWith("p1").size(), 11);
                var nested = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
                nested.setPropagationBehavior(org.springframework.transaction.TransactionDefinition.PROPAGATION_NESTED);
                nested.executeWithoutResult(inner -> {
                    people.deleteAll();
                    inner.setRollbackOnly();
                });
            });
            same(people.count(), 51L);
            try {
                var twin = new SpringPerson();
                twin.name = "Ada";
                people.save(twin);
                check(false, "a duplicate");
            } catch (org.springframework.dao.DataIntegrityViolationException expected) {
            } catch (org.springframework.data.relational.core.conversion.DbActionExecutionException expected) {
            }
            people.deleteAll();
        }
        run(connection, "DROP TABLE sd_pets, sd_people");
    }
}
