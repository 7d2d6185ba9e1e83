# Sequel: tables with types of PostgreSQL, indexes, its catalogue queries, upserts, COPY, cursors, savepoints, views, triggers,
# migrations, models.
require 'sequel'
require 'tmpdir'

def same(got, expected)
  raise "got #{got.inspect}, expected #{expected.inspect}" unless got == expected
end

def fails(kind)
  yield
rescue kind
  nil
else
  raise "#{kind} was expected"
end

DB = Sequel.connect(ARGV[0])
%i[pg_array pg_json pg_enum pg_range pg_inet pg_interval pg_loose_count pg_timestamptz constraint_validations schema_dumper date_arithmetic pagination].each { |name| DB.extension name }
Sequel.extension :migration, :pg_json_ops, :pg_array_ops, :pg_range_ops
DB.drop_view(:sq_view, if_exists: true)
%i[sq_orders sq_users sq_identity sq_m schema_info].each { |name| DB.drop_table?(name, cascade: true) }
DB.drop_enum(:sq_mood, if_exists: true)
DB.create_enum(:sq_mood, %w[sad ok])
DB.create_table(:sq_users) do
  primary_key :id
  String :name, size: 60, null: false, unique: true
  column :tags, 'text[]'
  jsonb :data, default: '{}'
  sq_mood :mood, default: 'ok'
  DateTime :created, default: Sequel::CURRENT_TIMESTAMP
  inet :ip
  int4range :span
  interval :took
  check { char_length(name) > 1 }
  index :created
  index :data, type: :gin
  index :span, type: :gist
  full_text_index :name
end
DB.create_table(:sq_orders) do
  primary_key :id, type: :Bignum
  foreign_key :user_id, :sq_users, on_delete: :cascade
  BigDecimal :total, size: [10, 2]
  index %i[user_id total], unique: true
  index Sequel.function(:lower, Sequel.cast(:total, String)), name: :sq_lower
end
types = DB.schema(:sq_users).map { |name, column| [name, column[:type]] }
same(types, [%i[id integer], %i[name string], %i[tags string_array], %i[data jsonb], %i[mood enum], %i[created datetime], %i[ip ipaddr], %i[span int4range], %i[took interval]])
same(DB.schema(:sq_users).to_h[:mood][:enum_values], %w[sad ok])
same(DB.indexes(:sq_orders), { sq_orders_user_id_total_index: { columns: %i[user_id total], unique: true, deferrable: nil } })
same(DB.foreign_key_list(:sq_orders).map { |key| [key[:columns], key[:table], key[:on_delete]] }, [[[:user_id], :sq_users, :cascade]])
same(DB.foreign_key_list(:sq_users, reverse: true).length, 1)
same(DB.check_constraints(:sq_users).values.map { |check| check[:columns] }, [[:name]])
same([DB.primary_key(:sq_users).to_s, DB.primary_key_sequence(:sq_orders)], ['id', '"public"."sq_orders_id_seq"'])
DB.create_view(:sq_view, DB[:sq_users].select(:id))
raise 'tables' unless DB.tables.include?(:sq_users) && DB.views.include?(:sq_view)
raise 'version' unless DB.server_version >= 150000
raise 'dump' unless DB.dump_schema_migration.include?('create_table(:sq_orders')
DB[:sq_users].insert(name: 'Ada', tags: Sequel.pg_array(%w[a b]), data: Sequel.pg_jsonb({ a: 1 }), ip: '10.0.0.1', span: 1..3, took: '1 day')
row = DB[:sq_users].first
same([row[:tags].to_a, row[:data].to_hash, row[:span].to_range, row[:ip].to_s, row[:took].to_i], [%w[a b], { 'a' => 1 }, 1...4, '10.0.0.1', 86400])
same(DB[:sq_users].multi_insert((1..10).map { |i| { name: "n#{i}" } }, return: :primary_key), (2..11).to_a)
DB[:sq_users].insert_conflict(target: :name, update: { mood: Sequel[:excluded][:mood] }).insert(name: 'Ada', mood: 'sad')
DB[:sq_users].insert_conflict(constraint: :sq_users_name_key, update: { mood: 'ok' }, update_where: { Sequel[:sq_users][:mood] => 'sad' }).insert(name: 'Ada')
same(DB[:sq_users].where(name: 'Ada').returning(:id, :mood).update(mood: 'sad'), [{ id: 1, mood: 'sad' }])
fails(Sequel::UniqueConstraintViolation) { DB[:sq_users].insert(name: 'Ada') }
fails(Sequel::CheckConstraintViolation) { DB[:sq_users].insert(name: 'x') }
fails(Sequel::ForeignKeyConstraintViolation) { DB[:sq_orders].insert(user_id: 99999) }
fails(Sequel::NotNullConstraintViolation) { DB[:sq_users].insert(name: nil) }
DB.copy_into(:sq_orders, columns: %i[user_id total], format: :csv, data: "1,2.50\n1,3.50\n")
same(DB.copy_table(DB[:sq_orders].select(:user_id, :total).order(:id), format: :csv), "1,2.50\n1,3.50\n")
same(DB[:sq_users].use_cursor(rows_per_fetch: 3).map(:id).size, 11)
DB[:sq_users].update(mood: 'ok')
same(DB[:sq_users].where(mood: 'ok').count, 11)
same(DB[:sq_users].use_cursor(hold: true, rows_per_fetch: 2).map(:id).size, 11)
DB.transaction do
  DB[:sq_users].insert(name: 'zz')
  DB.transaction(savepoint: true) do
    DB[:sq_users].delete
    raise Sequel::Rollback
  end
end
same(DB[:sq_users].count, 12)
DB.transaction(isolation: :serializable, retry_on: Sequel::SerializationFailure) { DB[:sq_users].lock('EXCLUSIVE') }
same(DB.transaction { DB[:sq_users].for_update.skip_locked.limit(1).all.size }, 1)
same(DB[:sq_users].where(id: :$i).prepare(:first, :sq_prepared).call(i: 1)[:id], 1)
raise 'explain' unless DB[:sq_users].explain.length.positive? && DB[:sq_users].analyze
same(DB[:sq_users].full_text_search(:name, 'ada').count, 1)
json = Sequel.pg_jsonb_op(:data)
same(DB[:sq_users].where(id: 1).get([json.get_text('a').as(:a), json.has_key?('a').as(:b), json.path_exists('$.a').as(:c), json.typeof.as(:d)]), ['1', true, true, 'object'])
array = Sequel.pg_array_op(:tags)
same(DB[:sq_users].where(id: 1).get([array.length.as(:a), array.contains(Sequel.pg_array(['a'], :text)).as(:b), array.join(',').as(:c), array.cardinality.as(:d)]), [2, true, 'a,b', 2])
span = Sequel.pg_range_op(:span)
same(DB[:sq_users].where(id: 1).get([span.contains(2).as(:a), span.lower.as(:b), span.upper.as(:c), span.isempty.as(:d), span.overlaps(span).as(:e)]), [true, 1, 4, false, true])
raise 'dates' unless DB[:sq_users].get(Sequel.date_add(:created, days: 1, months: 2)).is_a?(Time)
DB.add_column :sq_users, :x, Integer, default: 3
DB.alter_table(:sq_users) do
  set_column_type :x, :Bignum
  set_column_not_null :x
  set_column_default :x, 4
  rename_column :x, :y
end
DB.alter_table(:sq_users) { add_constraint(:sq_y) { y > 0 } }
DB.alter_table(:sq_users) do
  drop_constraint :sq_y
  drop_column :y
  add_index :mood, concurrently: true
end
DB.add_index(:sq_orders, :total, concurrently: true, if_not_exists: true, where: { total: 1 }, include: [:user_id])
DB.create_view(:sq_kept, DB[:sq_users].select(:id), materialized: true)
DB.add_index(:sq_kept, :id, unique: true)
DB.refresh_view(:sq_kept, concurrently: true)
same(DB.views(materialized: true).include?(:sq_kept), true)
DB.drop_view(:sq_kept, materialized: true)
DB.create_function('sq_touch', 'BEGIN NEW.mood = \'sad\'; RETURN NEW; END', returns: :trigger, language: :plpgsql, replace: true)
DB.create_trigger(:sq_users, :sq_trigger, :sq_touch, events: :update, each_row: true, when: { Sequel[:new][:name] => 'zz' })
DB[:sq_users].update(mood: 'ok')
same(DB[:sq_users].where(mood: 'sad').select_map(:name), ['zz'])
DB.drop_trigger(:sq_users, :sq_trigger)
DB.drop_function('sq_touch')
DB.create_table(:sq_identity) { primary_key :id, identity: :always; String :a, generated_always_as: Sequel.lit("'x'") }
DB[:sq_identity].overriding_system_value.insert(id: 5)
DB[:sq_orders].truncate(cascade: true, restart: true)
DB[:sq_users].merge_using(:sq_orders, user_id: Sequel[:sq_users][:id]).merge_update(mood: 'ok').merge
DB.do("BEGIN PERFORM 1; END")
got = DB.listen('sq_channel', timeout: 10, after_listen: proc { Thread.new { other = Sequel.connect(ARGV[0]); other.notify('sq_channel', payload: 'x'); other.disconnect } }) { |_, _, payload| break payload }
same(got, 'x')
tree = DB[:t].with_recursive(:t, DB.select(Sequel.as(1, :n)), DB[:t].select { n + 1 }.where { n < 5 })
same(tree.sum(:n), 15)
same(DB[:sq_users].join(DB[:sq_orders].where(user_id: Sequel[:sq_users][:id]).lateral, true).count, 0)
same(DB[:sq_users].order(Sequel.desc(:mood)).limit(1).with_ties.count, 11)
same(DB[:sq_users].select_group(:mood).select_append { count.function.* }.group_rollup.all.size, 3)
Dir.mktmpdir do |folder|
  File.write("#{folder}/001_a.rb", 'Sequel.migration { change { create_table(:sq_m) { primary_key :id; Time :at; Date :d; Float :f; TrueClass :b; File :bytes; Bignum :big } } }')
  Sequel::Migrator.run(DB, folder)
  Sequel::Migrator.run(DB, folder, target: 0)
end
class SqUser < Sequel::Model(:sq_users)
  plugin :dirty
  one_to_many :orders, class: :SqOrder, key: :user_id
end
class SqOrder < Sequel::Model(:sq_orders)
  many_to_one :user, class: :SqUser
end
user = SqUser.create(name: 'bo')
user.add_order(total: 3)
same(SqOrder.eager(:user).all.first.user.name, 'bo')
fails(Sequel::UniqueConstraintViolation) { SqUser.create(name: 'bo') }
DB.drop_view(:sq_view)
%i[sq_orders sq_users sq_identity schema_info].each { |name| DB.drop_table?(name, cascade: true) }
DB.drop_enum(:sq_mood)
DB.disconnect
puts "sequel #{Sequel::VERSION} ok"
