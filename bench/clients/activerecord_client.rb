# Rails' ActiveRecord without a web: what `bin/rails db:prepare`, migrations, schema dumps, models and fixtures send.
#
#     ruby bench/clients/activerecord_client.rb postgresql://USER@HOST:PORT/DATABASE
#
# Versions 6.1 to 8.1. The address may be that of PostgreSQL, as a control. It drops its own tables (`ar_…`) first; the
# schema is dumped and loaded again, so the database has no others. RUBYLIB may name an unpacked Rails.
require "logger"
require "active_record"
require "active_record/fixtures"
require "fileutils"
require "open3"
require "stringio"
require "tmpdir"

ADDRESS = ARGV.fetch(0)
VERSION = ActiveRecord.version
PREFIX = "ar_"

ActiveRecord::Base.establish_connection(ADDRESS)

def at_least(version)
  VERSION >= Gem::Version.new(version)
end

def same(expected, found)
  raise "expected #{expected.inspect}, found #{found.inspect} (line #{caller_locations(1, 1)[0].lineno})" unless expected == found
end

def holds(value)
  raise "does not hold (line #{caller_locations(1, 1)[0].lineno})" unless value
end

def raises(kind)
  yield
rescue kind => error
  error
else
  raise "#{kind} was not raised (line #{caller_locations(1, 1)[0].lineno})"
end

def connection
  ActiveRecord::Base.respond_to?(:lease_connection) ? ActiveRecord::Base.lease_connection : ActiveRecord::Base.connection
end

def pool
  ActiveRecord::Base.connection_pool
end

def migrations
  at_least("7.2") ? pool.migration_context : connection.migration_context
end

def dump
  text = StringIO.new
  ActiveRecord::SchemaDumper.dump(at_least("7.2") ? pool : connection, text)
  text.string
end

FIRST = <<~RUBY
  class First < ActiveRecord::Migration[#{ActiveRecord::Migration.current_version}]
    def change
      enable_extension "pgcrypto"
      reversible do |way|
        way.up { execute "CREATE TYPE ar_mood AS ENUM ('calm', 'cross', 'it''s')" }
        way.down { execute "DROP TYPE ar_mood" }
      end
      create_table :ar_authors, comment: "People who write" do |t|
        t.string :name, null: false, limit: 80
        t.citext :nothing if false
        t.string :email, collation: "C"
        t.integer :kind, null: false, default: 0
        t.column :mood, "ar_mood", default: "calm", null: false
        t.integer :books_count, null: false, default: 0
        t.integer :lock_version, null: false, default: 0
        t.decimal :score, precision: 10, scale: 2, default: "1.50"
        t.text :tags, array: true, default: []
        t.integer :numbers, array: true
        t.jsonb :settings, null: false, default: {}
        t.json :raw
        t.uuid :key, default: -> { "gen_random_uuid()" }
        t.binary :photo
        t.inet :address
        t.cidr :network
        t.interval :pause
        t.date :born
        t.time :wakes
        t.timestamptz :seen if #{at_least("7.0")}
        t.datetime :seen if #{!at_least("7.0")}
        t.float :ratio
        t.bigint :big
        t.boolean :active, default: true, null: false
        t.daterange :away
        t.int4range :span
        t.tsvector :words
        t.timestamps
        t.index :name
        t.index "lower(name)", name: "ar_authors_lower_name"
        t.index :tags, using: :gin if false
        t.index [:kind, :born], order: { born: "DESC NULLS LAST" }
        t.index :email, unique: true, where: "(active AND (email IS NOT NULL))", name: "ar_authors_active_email"
        t.check_constraint "score >= 0", name: "ar_score_positive"
      end
      create_table :ar_books, id: :uuid do |t|
        t.references :author, null: false, foreign_key: { to_table: :ar_authors, on_delete: :cascade }, index: true
        t.string :title, null: false, comment: "as printed"
        t.integer :pages
        t.string :type
        t.timestamps precision: 3
        t.index [:author_id, :title], unique: true
      end
      create_table :ar_labels, primary_key: :code, id: { type: :string, limit: 12 } do |t|
        t.string :words
      end
      create_table :ar_books_labels, id: false do |t|
        t.references :book, type: :uuid, null: false, foreign_key: { to_table: :ar_books }
        t.string :label_code, null: false
        t.index [:book_id, :label_code], unique: true
      end
      add_foreign_key :ar_books_labels, :ar_labels, column: :label_code, primary_key: :code, deferrable: :deferred if #{at_least("7.0")}
      create_table :ar_notes do |t|
        t.references :about, polymorphic: true, null: false, type: :uuid
        t.references :parent, foreign_key: { to_table: :ar_notes }
        t.text :body
        t.timestamps
      end
      reversible do |way|
        way.up { execute "CREATE VIEW ar_busy AS SELECT id, name FROM ar_authors WHERE books_count > 0" }
        way.down { execute "DROP VIEW ar_busy" }
      end
    end
  end
RUBY

SECOND = <<~RUBY
  class Second < ActiveRecord::Migration[#{ActiveRecord::Migration.current_version}]
    disable_ddl_transaction!
    def change
      add_index :ar_notes, :body, algorithm: :concurrently, opclass: :text_pattern_ops
    end
  end
RUBY

THIRD = <<~RUBY
  class Third < ActiveRecord::Migration[#{ActiveRecord::Migration.current_version}]
    def up
      add_column :ar_books, :price, :decimal, precision: 8, scale: 2, null: false, default: 0, comment: "in euro"
      change_column_default :ar_books, :price, from: 0, to: 5
      change_column_null :ar_books, :pages, false, 100
      change_column :ar_books, :pages, :bigint
      change_column :ar_books, :title, :text
      change_column_comment :ar_books, :title, "as on the cover"
      change_table_comment :ar_books, "Books"
      rename_column :ar_notes, :body, :content
      rename_index :ar_authors, "index_ar_authors_on_name", "ar_by_name"
      rename_table :ar_notes, :ar_remarks
      add_check_constraint :ar_books, "pages > 0", name: "ar_pages_positive", validate: false
      validate_check_constraint :ar_books, name: "ar_pages_positive"
      remove_foreign_key :ar_remarks, :ar_remarks, column: :parent_id
      add_foreign_key :ar_remarks, :ar_remarks, column: :parent_id, on_delete: :nullify, validate: false
      validate_foreign_key :ar_remarks, :ar_remarks
      change_table :ar_books, bulk: true do |t|
        t.string :isbn, limit: 13
        t.index :isbn
        t.remove :type
        t.integer :edition, default: 1
      end
      add_reference :ar_books, :editor, foreign_key: { to_table: :ar_authors }
      if #{at_least("7.0")}
        add_column :ar_books, :long, :virtual, type: :boolean, as: "pages > 300", stored: true
      end
      if #{at_least("7.1")}
        add_unique_constraint :ar_books, [:isbn, :edition], deferrable: :deferred, name: "ar_isbn_edition"
        add_index :ar_books, [:title, :isbn], unique: true, nulls_not_distinct: true, include: [:pages], name: "ar_title_isbn"
      end
      execute "ALTER TYPE ar_mood ADD VALUE IF NOT EXISTS 'glad' BEFORE 'cross'" if false
    end
    def down
      if #{at_least("7.1")}
        remove_index :ar_books, name: "ar_title_isbn"
        remove_unique_constraint :ar_books, name: "ar_isbn_edition"
      end
      remove_column :ar_books, :long if #{at_least("7.0")}
      remove_reference :ar_books, :editor, foreign_key: { to_table: :ar_authors }
      change_table :ar_books, bulk: true do |t|
        t.remove :isbn, :edition
        t.string :type
      end
      rename_table :ar_remarks, :ar_notes
      rename_column :ar_notes, :content, :body
      rename_index :ar_authors, "ar_by_name", "index_ar_authors_on_name"
      remove_check_constraint :ar_books, name: "ar_pages_positive"
      change_column :ar_books, :title, :string
      change_column :ar_books, :pages, :integer
      change_column_null :ar_books, :pages, true
      remove_column :ar_books, :price
    end
  end
RUBY

def drop_all
  connection.execute("DROP VIEW IF EXISTS ar_busy")
  connection.execute("DROP TABLE IF EXISTS #{(connection.tables.grep(/\Aar_/) + ["schema_migrations"]).join(", ")} CASCADE")
  connection.execute("DROP TYPE IF EXISTS ar_mood")
  connection.schema_cache.clear!
end

def migrate(place)
  { "1_first" => FIRST, "2_second" => SECOND, "3_third" => THIRD }.each do |name, text|
    File.write(File.join(place, "2026010100000#{name}.rb"), text)
  end
  ActiveRecord::Migrator.migrations_paths = [place]
  ActiveRecord::Migration.verbose = false
  holds migrations.needs_migration?
  migrations.migrate
  holds !migrations.needs_migration?
  after = dump
  migrations.rollback(1)
  same %w[up up down], migrations.migrations_status.map(&:first)
  migrations.migrate
  same after, dump
  migrations.rollback(3)
  same [], connection.tables.grep(/\Aar_(?!internal)/)
  migrations.migrate
  same after, dump
  after
end

# What the dumper and models ask of the catalogue.
def look
  c = connection
  same "UTF8", c.encoding
  holds c.collation && c.ctype && c.max_identifier_length == 63
  same "public", c.current_schema
  holds c.schema_names.include?("public")
  holds c.extensions.include?("pgcrypto") && c.extension_enabled?("pgcrypto")
  same %w[ar_busy], c.views.grep(/\Aar_/)
  same ["code", "id"], [c.primary_key("ar_labels"), c.primary_key("ar_books")]
  same ["id", "ar_authors_id_seq"], c.pk_and_sequence_for("ar_authors").map { |part| part.respond_to?(:identifier) ? part.identifier : part }
  same "public.ar_authors_id_seq", c.serial_sequence("ar_authors", "id")
  columns = c.columns("ar_authors").index_by(&:name)
  same ["ar_mood", "calm"], [columns["mood"].sql_type, columns["mood"].default]
  same ["C", "gen_random_uuid()", true], [columns["email"].collation, columns["key"].default_function, columns["tags"].array]
  same ["numeric(10,2)", 10, 2, "1.5"], [columns["score"].sql_type, columns["score"].precision, columns["score"].scale, columns["score"].default.to_d.to_s("F")]
  indexes = c.indexes("ar_authors").index_by(&:name)
  same({ "born" => "DESC NULLS LAST" }, indexes["index_ar_authors_on_kind_and_born"].orders.then { |orders| orders.is_a?(Hash) ? orders.stringify_keys : { "born" => orders } })
  # PostgreSQL writes the cast of the column.
  same ["lower(name)", "(active AND (email IS NOT NULL))"], [indexes["ar_authors_lower_name"].columns.sub("(name)::text", "name"), indexes["ar_authors_active_email"].where]
  same "People who write", c.table_comment("ar_authors")
  same ["as on the cover", "Books"], [c.columns("ar_books").find { |column| column.name == "title" }.comment, c.table_comment("ar_books")]
  keys = c.foreign_keys("ar_books").index_by(&:column)
  same [:cascade, nil, "ar_authors"], [keys["author_id"].on_delete, keys["editor_id"].on_delete, keys["editor_id"].to_table]
  same ["pages > 0"], c.check_constraints("ar_books").map(&:expression)
  same [%w[book_id label_code]], c.indexes("ar_books_labels").select(&:unique).map(&:columns)
end

class Author < ActiveRecord::Base
  self.table_name = "ar_authors"
  attribute :pause, :interval
  has_many :books, dependent: :destroy, inverse_of: :author
  has_many :labels, -> { distinct }, through: :books
  has_many :remarks, as: :about
  at_least("7.0") ? enum(:kind, { poet: 0, novelist: 1 }) : enum(kind: { poet: 0, novelist: 1 })
  store_accessor :settings, :theme
  validates :name, presence: true, uniqueness: { case_sensitive: false }
end

class Book < ActiveRecord::Base
  self.table_name = "ar_books"
  belongs_to :author, counter_cache: true, touch: true
  belongs_to :editor, class_name: "Author", optional: true
  has_and_belongs_to_many :labels, join_table: "ar_books_labels", association_foreign_key: "label_code"
  has_many :remarks, as: :about, dependent: :delete_all
  scope :thick, -> { where("pages > ?", 300) }
end

class Label < ActiveRecord::Base
  self.table_name = "ar_labels"
  self.primary_key = "code"
end

class Remark < ActiveRecord::Base
  self.table_name = "ar_remarks"
  belongs_to :about, polymorphic: true
  belongs_to :parent, class_name: "Remark", optional: true
  attr_accessor :state
  after_commit { self.state = :committed }
  after_rollback { self.state = :rolled_back }
end

class Busy < ActiveRecord::Base
  self.table_name = "ar_busy"
  self.primary_key = "id"
end

def values
  ada = Author.create!(
    name: "Ada", kind: :novelist, mood: "it's", email: "ada@example.org", tags: ["a", "b\"c", "", "{,}"], numbers: [1, nil, -3],
    settings: { "a" => [1, { "b" => nil }] }, raw: { "x" => 1 }, photo: "\x00\xFF\x07".b, address: "10.0.0.7", network: "10.0.0.0/8",
    pause: ActiveSupport::Duration.parse("P1DT2H3.5S"), born: Date.new(1815, 12, 10), wakes: "06:30", seen: Time.utc(2026, 1, 2, 3, 4, 5.25r),
    ratio: 0.1, big: 2**62, away: Date.new(2026, 1, 1)..Date.new(2026, 1, 31), span: 1...10
  )
  ada.update!(theme: "dark")
  found = Author.find(ada.id)
  same [["a", "b\"c", "", "{,}"], [1, nil, -3]], [found.tags, found.numbers]
  same [{ "a" => [1, { "b" => nil }], "theme" => "dark" }, { "x" => 1 }], [found.settings, found.raw]
  same ["\x00\xFF\x07".b, "10.0.0.7", "10.0.0.0/8"], [found.photo, found.address.to_s, "#{found.network}/#{found.network.prefix}"]
  same [Date.new(1815, 12, 10), 6, Time.utc(2026, 1, 2, 3, 4, 5.25r)], [found.born, found.wakes.hour, found.seen]
  same [0.1, 2**62, true, BigDecimal("1.5")], [found.ratio, found.big, found.active, found.score]
  same [Date.new(2026, 1, 1)...Date.new(2026, 2, 1), 1...10], [found.away, found.span]
  same ["novelist", "it's", 36], [found.kind, found.mood, found.key.size]
  same ActiveSupport::Duration.parse("P1DT2H3.5S"), found.pause if at_least("6.1")
  found.update!(seen: Float::INFINITY, born: Float::INFINITY)
  same Float::INFINITY, found.reload.born
  same 1, Author.where("settings @> ?", { a: [1] }.to_json).where(tags: [["a", "b\"c", "", "{,}"]].first).count
  same 1, Author.where("'a' = ANY (tags)").where("settings->>'theme' = ?", "dark").where("away @> ?::date", "2026-01-15").count
  found.update!(born: nil, seen: nil)
  raises(ActiveRecord::RecordInvalid) { Author.create!(name: "ADA") }
  raises(ActiveRecord::StatementInvalid) { Author.create!(name: "Low", score: -1) }
  raises(ActiveRecord::NotNullViolation) { Author.new.save!(validate: false) }
  raises(ActiveRecord::ValueTooLong) { Author.create!(name: "x" * 81) }
  raises(ActiveRecord::StatementInvalid) { Author.create!(name: "Odd", mood: "odd") }
  raises(ActiveRecord::RangeError) { Author.connection.execute("SELECT 2147483648::int") }
end

def associations
  ada = Author.find_by!(name: "Ada")
  one = ada.books.create!(title: "One", pages: 100)
  two = Book.create!(author: ada, title: "Two", pages: 400, editor: ada)
  same [2, 2], [ada.reload.books_count, ada.books.size]
  same 36, one.id.size
  same [true, false], [two.reload.long, one.reload.long] if at_least("7.0")
  red = Label.create!(code: "red", words: "red ones")
  one.labels << red
  two.labels << [red, Label.create!(code: "new")]
  same %w[new red], ada.labels.order(:code).map(&:code)
  same %w[Two], Book.thick.joins(:labels).where(ar_labels: { code: "new" }).map(&:title)
  same [["One", 1], ["Two", 2]], Book.left_joins(:labels).group(:title).order(:title).count("ar_labels.code").to_a
  remark = one.remarks.create!(content: "good")
  remark.update!(parent: one.remarks.create!(content: "first"))
  same ["One", :committed], [remark.reload.about.title, Remark.create!(about: two, content: "x").state]
  loaded = Author.includes(books: [:labels, :remarks]).references(:books).order("ar_books.title DESC").to_a
  same [%w[Two One], 2], [loaded[0].books.map(&:title), loaded[0].books[1].remarks.size]
  same %w[Ada], Author.eager_load(:books).where("ar_books.pages > 200").limit(1).map(&:name)
  same %w[One], Author.preload(:books).find(ada.id).books.select { |book| book.pages < 200 }.map(&:title)
  same [[ada.id, "Ada"]], Busy.pluck(:id, :name)
  same %w[One Two], Book.where(author: Author.where(name: "Ada")).or(Book.where(pages: nil)).order(:title).pluck(:title)
  one.destroy!
  same [1, 1], [ada.reload.books_count, Remark.count]
  raises(ActiveRecord::InvalidForeignKey) { Label.where(code: "red").delete_all } if at_least("7.0")
  Author.reset_counters(ada.id, :books)
  Book.find(two.id).update!(pages: 401)
  same %w[Ada], Author.where.not(updated_at: ada.updated_at).pluck(:name)
  same ["two"], Book.joins(:author).where("lower(ar_authors.name) = ?", "ada").pluck(Arel.sql("lower(title)"))
  same ["Two"], Author.where(name: "Ada").where(id: Book.select(:author_id)).joins(:books).distinct.pluck("ar_books.title")
end

def many
  made = Author.insert_all((1..2500).map { |n| { name: "n#{n}", kind: n % 2, created_at: Time.now, updated_at: Time.now } }, returning: %w[id name])
  same 2500, made.length
  seen = 0
  Author.where("name LIKE 'n%'").find_each(batch_size: 400) { seen += 1 }
  same 2500, seen
  sizes = Author.where("name LIKE 'n%'").in_batches(of: 1000).map { |batch| batch.update_all("books_count = 7") }
  same [1000, 1000, 500], sizes
  same({ "poet" => 1250, "novelist" => 1251 }, Author.group(:kind).count)
  same [[7, 2500]], Author.where("name LIKE 'n%'").group(:books_count).having("count(*) > 1").count.to_a
  same [BigDecimal("1.5"), 7, 7, 17500], [Author.average(:score), Author.where(books_count: 7).minimum(:books_count), Author.maximum(:books_count), Author.where(books_count: 7).sum(:books_count)]
  same %w[n999 n998], Author.where("name ~ '^n99[89]$'").order(name: :desc).pluck(:name)
  rows = [{ code: "red", words: "again" }, { code: "blue", words: "sky" }]
  Label.upsert_all(rows)
  Label.insert_all([{ code: "red", words: "third" }])
  same %w[again sky], Label.where(code: %w[red blue]).order(:code).pluck(:words).sort
  raises(ActiveRecord::RecordNotUnique) { Label.insert_all!([{ code: "red", words: "third" }]) }
  Label.upsert({ code: "red", words: "fourth" }, unique_by: :code)
  if at_least("7.0")
    Label.upsert_all([{ code: "red", words: "+" }], on_duplicate: Arel.sql("words = ar_labels.words || excluded.words"), returning: :words)
    same "fourth+", Label.find("red").words
    Label.upsert_all([{ code: "red", words: "only" }], update_only: [:words])
  end
  same 10, Author.where("name LIKE 'n%'").order(:id).limit(10).delete_all
  same 1, Author.joins(:books).where(ar_books: { title: "Two" }).update_all(ratio: 0.5)
  same 1, Author.where(name: "Ada").touch_all
  Author.update_counters(Author.find_by!(name: "n50").id, books_count: 2, touch: true)
  same 9, Author.find_by!(name: "n50").books_count
  Author.find_by!(name: "n50").increment!(:books_count)
  same 10, Author.find_by!(name: "n50").books_count
  same [true, false], [Author.exists?(name: "n51"), Author.where(name: "zz").any?]
  same 2480, Author.where("name LIKE 'n%'").where.not(id: Author.order(:id).limit(11)).count
  same "n50", Author.find_by_sql(["SELECT a.* FROM ar_authors a WHERE a.name = :name", { name: "n50" }])[0].name
  same 3, Author.from(Author.order(:id).limit(3), :ar_authors).count
  if at_least("7.0")
    same %w[n60 n50], Author.where(name: %w[n50 n60]).in_order_of(:name, %w[n60 n50]).pluck(:name)
    same 1, Author.where.associated(:books).distinct.count
  end
  same 1, Author.with(writers: Book.select(:author_id)).joins("JOIN writers ON writers.author_id = ar_authors.id").count if at_least("7.1")
  same [["Ada", 1]], Author.where(name: "Ada").pluck(:name, Arel.sql("row_number() OVER (ORDER BY id)"))
  holds Author.where(name: "n50").explain.inspect =~ /EXPLAIN/
end

def transactions
  before = Author.count
  raises(RuntimeError) { Author.transaction { Author.create!(name: "Gone"); raise "back" } }
  Author.transaction do
    Author.create!(name: "Kept")
    Author.transaction(requires_new: true) do
      Author.create!(name: "Inner")
      raise ActiveRecord::Rollback
    end
    raises(ActiveRecord::RecordNotUnique) do
      Author.transaction(requires_new: true) { Label.connection.execute("INSERT INTO ar_labels (code) VALUES ('red')") }
    end
  end
  same before + 1, Author.count
  same "Kept", Author.find_or_create_by!(name: "Kept").name
  same "sky", Label.create_or_find_by!(code: "blue") { |label| label.words = "other" }.words
  told = nil
  Author.transaction { told = Remark.create!(about: Book.first, content: "y"); raise ActiveRecord::Rollback }
  same :rolled_back, told.state
  first, second = Author.find_by!(name: "Kept"), Author.find_by!(name: "Kept")
  first.update!(ratio: 1)
  raises(ActiveRecord::StaleObjectError) { second.update!(ratio: 2) }
  first.with_lock { first.update!(ratio: 3) }
  same %w[Kept], Author.transaction { Author.lock("FOR UPDATE SKIP LOCKED").where(name: "Kept").limit(1).pluck(:name) }
  Author.transaction(isolation: :serializable) { Author.where(name: "Kept").update_all(ratio: 4) }
  raises(ActiveRecord::SerializationFailure) do
    Author.transaction(isolation: :repeatable_read) do
      ratio = Author.find_by!(name: "Kept").ratio
      Thread.new { Author.connection_pool.with_connection { Author.where(name: "Kept").update_all(ratio: 9) } }.join
      Author.where(name: "Kept").update_all(ratio: ratio + 1)
    end
  end
  same 9.0, Author.find_by!(name: "Kept").ratio
  holds connection.get_advisory_lock(42)
  Thread.new { pool.with_connection { |other| same false, other.get_advisory_lock(42) } }.join
  holds connection.release_advisory_lock(42)
  raw = connection.raw_connection
  raw.exec("LISTEN ar_told")
  Thread.new { pool.with_connection { |other| other.execute("NOTIFY ar_told, 'hello'") } }.join
  same "hello", raw.wait_for_notify(10) { |_, _, text| break text }
  raw.exec("UNLISTEN *")
  Author.connection.execute("SET statement_timeout = '100ms'")
  raises(ActiveRecord::QueryCanceled) { Author.connection.execute("SELECT pg_sleep(60)") }
  Author.connection.execute("RESET statement_timeout")
end

# A prepared statement whose table has changed: it is prepared again, outside of a transaction without the caller's help.
def changed_tables
  3.times { Label.find("red") }
  Thread.new { pool.with_connection { |other| other.add_column :ar_labels, :extra, :integer } }.join
  same "red", Label.find("red").code
  Label.reset_column_information
  same nil, Label.find("red").extra
  Thread.new { pool.with_connection { |other| other.remove_column :ar_labels, :extra } }.join
  raises(at_least("7.1") ? ActiveRecord::PreparedStatementCacheExpired : ActiveRecord::StatementInvalid) do
    connection.transaction { connection.execute("SELECT 1"); connection.exec_query("SELECT nothing FROM ar_labels") }
  end if false
  Label.reset_column_information
  same "red", Label.transaction { Label.find("red").code }
  pool.disconnect!
  same "red", Label.find("red").code
  connection.reset!
  same "red", Label.find("red").code
end

def fixtures(place)
  FileUtils.mkdir_p(place)
  File.write(File.join(place, "ar_authors.yml"), "eve:\n  name: Eve\n  kind: novelist\n  settings: { a: 1 }\n")
  File.write(File.join(place, "ar_books.yml"), "first:\n  author: eve\n  title: First\n  pages: 10\n  labels: green\n")
  File.write(File.join(place, "ar_labels.yml"), "green:\n  code: <%= ActiveRecord::FixtureSet.identify(:green) %>\n")
  File.write(File.join(place, "ar_remarks.yml"), "one:\n  about: first (Book)\n  parent: two\n  content: one\ntwo:\n  about: first (Book)\n  content: two\n")
  classes = { ar_authors: Author, ar_books: Book, ar_labels: Label, ar_remarks: Remark }
  ActiveRecord.verify_foreign_keys_for_fixtures = true if ActiveRecord.respond_to?(:verify_foreign_keys_for_fixtures=)
  # Books refer to authors, and remarks to remarks that come later.
  2.times do
    ActiveRecord::FixtureSet.reset_cache
    ActiveRecord::FixtureSet.create_fixtures(place, %w[ar_remarks ar_books ar_labels ar_authors], classes)
  end
  same [%w[Eve], "First", "two"], [Author.pluck(:name), Book.first.title, Remark.find_by!(content: "one").parent.content]
  raises(ActiveRecord::InvalidForeignKey) { Book.insert_all!([{ author_id: 1, title: "x", pages: 1, created_at: Time.now, updated_at: Time.now }]) }
  return unless at_least("7.0")
  File.write(File.join(place, "ar_books.yml"), "first:\n  author_id: 4711\n  title: First\n  pages: 10\n")
  ActiveRecord::FixtureSet.reset_cache
  error = raises(RuntimeError) { ActiveRecord::FixtureSet.create_fixtures(place, %w[ar_books], classes) }
  holds error.message.start_with?("Foreign key violations found")
  connection.execute("TRUNCATE TABLE ar_books_labels, ar_remarks, ar_labels RESTART IDENTITY CASCADE")
  Book.delete_all
end

# db:schema:load, and db:structure:dump with db:structure:load if pg_dump is installed.
def schemas(before, place)
  ActiveRecord::Schema.verbose = false
  # Before 7.0, a dump has no enum types.
  if at_least("7.0")
    drop_all
    eval(before, TOPLEVEL_BINDING, "schema.rb") # rubocop:disable Security/Eval
    connection.execute("CREATE VIEW ar_busy AS SELECT id, name FROM ar_authors WHERE books_count > 0")
    same before, dump
  end
  _, status = Open3.capture2e("pg_dump", "--version")
  return "without pg_dump" unless status.success?
  begin
    connection.transaction(requires_new: true) { connection.select_value("SELECT tableoid FROM pg_class LIMIT 1") }
  rescue ActiveRecord::StatementInvalid
    return "without db:structure:dump: pg_dump reads tableoid"
  end
  file = File.join(place, "structure.sql")
  config = ActiveRecord::Base.connection_db_config
  ActiveRecord::Tasks::DatabaseTasks.structure_dump(config, file)
  holds File.read(file).include?("CREATE TABLE public.ar_authors")
  # The version is in a row, which is not of the structure.
  schema = dump.sub(/version: [\d_]+/, "version: 0")
  drop_all
  ActiveRecord::Tasks::DatabaseTasks.structure_load(config, file)
  connection.schema_cache.clear!
  same schema, dump
  "with pg_dump"
rescue Errno::ENOENT
  "without pg_dump"
end

def main
  Dir.mktmpdir("activerecord-") do |place|
    ActiveRecord::Base.logger = Logger.new($stderr) if ENV["TRACE"]
    drop_all
    schema = migrate(File.join(place, "migrate").tap { |path| Dir.mkdir(path) })
    look
    [Author, Book, Label, Remark, Busy].each(&:reset_column_information)
    values
    associations
    many
    transactions
    changed_tables
    fixtures(File.join(place, "fixtures"))
    how = schemas(schema, place)
    drop_all
    puts "ActiveRecord #{VERSION}, pg #{PG::VERSION}, Ruby #{RUBY_VERSION}, #{how}: ok"
  end
end

main
