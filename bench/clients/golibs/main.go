// Further libraries of Go on PostgreSQL, each with its everyday calls: go run . DSN NAME. sqlx on lib/pq, bun, golang-migrate,
// goose and river. A control is the same with the address of a PostgreSQL 15.
package main

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/golang-migrate/migrate/v4"
	_ "github.com/golang-migrate/migrate/v4/database/postgres"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"
)

//go:embed migrations/*.sql
var migrations embed.FS

//go:embed goose/*.sql
var gooses embed.FS

func must(err error) {
	if err != nil {
		log.Output(2, err.Error())
		os.Exit(1)
	}
}

func check(good bool, what ...any) {
	if !good {
		log.Output(2, fmt.Sprint(what...))
		os.Exit(1)
	}
}

var libraries = map[string]func(string){"go_sqlx": tryingSqlx, "bun": tryingBun, "golang_migrate": tryingMigrate, "goose": tryingGoose, "river": tryingRiver}

func main() {
	log.SetFlags(log.Lshortfile)
	libraries[os.Args[2]](os.Args[1])
	fmt.Println(os.Args[2], "ok")
}

// sqlx on lib/pq: named statements, IN, structs, arrays, COPY, notifications, errors, savepoints.
func tryingSqlx(dsn string) {
	db, err := sqlx.Connect("postgres", dsn)
	must(err)
	db.MustExec(`DROP TABLE IF EXISTS gx_people; CREATE TABLE gx_people (id serial PRIMARY KEY, name text UNIQUE, tags text[], numbers bigint[], raw bytea, data jsonb, made timestamptz DEFAULT now())`)
	type person struct {
		ID      int
		Name    string
		Tags    pq.StringArray
		Numbers pq.Int64Array
		Raw     []byte
		Data    []byte
		Made    time.Time
	}
	rows, err := db.NamedQuery(`INSERT INTO gx_people (name, tags, numbers, raw, data) VALUES (:name, :tags, :numbers, :raw, :data) RETURNING id`, person{Name: "Ada", Tags: pq.StringArray{"x", "y,z"}, Numbers: pq.Int64Array{1, 2}, Raw: []byte{0, 255}, Data: []byte(`{"a": 1}`)})
	must(err)
	check(rows.Next(), "an id")
	must(rows.Close())
	_, err = db.NamedExec(`INSERT INTO gx_people (name, data) VALUES (:name, :data)`, []map[string]any{{"name": "Bob", "data": `{}`}, {"name": "Eve", "data": `{}`}})
	must(err)
	var ada person
	must(db.Get(&ada, "SELECT * FROM gx_people WHERE name = $1", "Ada"))
	check(ada.Tags[1] == "y,z" && ada.Numbers[1] == 2 && ada.Raw[1] == 255 && time.Since(ada.Made) < time.Hour, ada)
	query, arguments, err := sqlx.In("SELECT name FROM gx_people WHERE id IN (?) ORDER BY id", []int{1, 2})
	must(err)
	var names []string
	must(db.Select(&names, db.Rebind(query), arguments...))
	check(strings.Join(names, " ") == "Ada Bob", names)
	must(db.Select(&names, "SELECT name FROM gx_people WHERE name = ANY($1)", pq.Array([]string{"Eve"})))
	tx := db.MustBegin()
	copying, err := tx.Prepare(pq.CopyIn("gx_people", "name", "data"))
	must(err)
	for i := range 500 {
		_, err = copying.Exec(fmt.Sprintf("p%03d", i), `{"n": 1}`)
		must(err)
	}
	_, err = copying.Exec()
	must(err)
	must(copying.Close())
	tx.MustExec("SAVEPOINT here")
	_, err = tx.Exec("INSERT INTO gx_people (name) VALUES ('Ada')")
	var failed *pq.Error
	check(errors.As(err, &failed) && failed.Code.Name() == "unique_violation" && failed.Constraint == "gx_people_name_key" && failed.Table == "gx_people", err)
	tx.MustExec("ROLLBACK TO SAVEPOINT here")
	must(tx.Commit())
	var count int
	must(db.Get(&count, "SELECT count(*) FROM gx_people"))
	check(count == 503, count)
	prepared, err := db.Preparex("SELECT id, name FROM gx_people WHERE id > $1 ORDER BY id LIMIT 2")
	must(err)
	found, err := prepared.Queryx(1)
	must(err)
	types, err := found.ColumnTypes()
	must(err)
	check(types[0].DatabaseTypeName() == "INT4", types[0].DatabaseTypeName())
	for found.Next() {
		one := map[string]any{}
		must(found.MapScan(one))
	}
	must(prepared.Close())
	several, err := db.Query("SELECT 1; SELECT 2")
	must(err)
	for several.Next() {
	}
	check(several.NextResultSet() && several.Next(), "two results")
	several.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		// The statement must have begun.
		for sleeping := 0; sleeping == 0; time.Sleep(10 * time.Millisecond) {
			if db.Get(&sleeping, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") != nil {
				break
			}
		}
		cancel()
	}()
	_, err = db.ExecContext(ctx, "SELECT pg_sleep(30)")
	cancel()
	check(errors.Is(err, context.Canceled) || errors.As(err, &failed) && failed.Code == "57014", err)
	read, err := db.BeginTxx(context.Background(), &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	must(err)
	_, err = read.Exec("DELETE FROM gx_people")
	check(err != nil && strings.Contains(err.Error(), "read-only"), err)
	read.Rollback()
	listener := pq.NewListener(dsn, time.Second, time.Second, nil)
	must(listener.Listen("gx_channel"))
	db.MustExec("SELECT pg_notify('gx_channel', 'hey')")
	select {
	case said := <-listener.Notify:
		check(said.Extra == "hey", said)
	case <-time.After(20 * time.Second):
		check(false, "no notification")
	}
	must(listener.Close())
	db.MustExec("DROP TABLE gx_people")
	must(db.Close())
}

type BunUser struct {
	bun.BaseModel `bun:"table:bn_users,alias:u"`
	ID            int64             `bun:",pk,autoincrement"`
	Name          string            `bun:",notnull,unique"`
	Tags          []string          `bun:",array"`
	Data          map[string]any    `bun:"type:jsonb"`
	Attributes    map[string]string `bun:"type:jsonb"`
	Raw           []byte
	Money         float64    `bun:"type:numeric(12,2)"`
	Made          time.Time  `bun:",nullzero,notnull,default:current_timestamp"`
	Deleted       time.Time  `bun:",soft_delete,nullzero"`
	Posts         []*BunPost `bun:"rel:has-many,join:id=user_id"`
}

type BunPost struct {
	bun.BaseModel `bun:"table:bn_posts,alias:p"`
	ID            int64 `bun:",pk,autoincrement"`
	UserID        int64
	Body          string
	User          *BunUser `bun:"rel:belongs-to,join:user_id=id"`
}

// bun with its driver: models, relations, upserts, bulk updates by VALUES, soft deletes, transactions, COPY, notifications.
func tryingBun(dsn string) {
	ctx := context.Background()
	db := bun.NewDB(sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn))), pgdialect.New())
	_, err := db.ExecContext(ctx, "DROP TABLE IF EXISTS bn_posts, bn_users")
	must(err)
	_, err = db.NewCreateTable().Model((*BunUser)(nil)).IfNotExists().Exec(ctx)
	must(err)
	_, err = db.NewCreateTable().Model((*BunPost)(nil)).ForeignKey(`("user_id") REFERENCES "bn_users" ("id") ON DELETE CASCADE`).Exec(ctx)
	must(err)
	_, err = db.NewCreateIndex().Model((*BunUser)(nil)).Index("bn_data").Using("gin").Column("data").Exec(ctx)
	must(err)
	users := []BunUser{{Name: "Ada", Tags: []string{"x", "y"}, Data: map[string]any{"a": 1.5}, Raw: []byte{0, 255}, Money: 12.5}, {Name: "Bob"}}
	_, err = db.NewInsert().Model(&users).Exec(ctx)
	must(err)
	check(users[1].ID == 2 && !users[0].Made.IsZero(), users)
	_, err = db.NewInsert().Model(&[]BunPost{{UserID: 1, Body: "one"}, {UserID: 1, Body: "two"}}).Exec(ctx)
	must(err)
	_, err = db.NewInsert().Model(&BunUser{Name: "Ada", Money: 20}).On("CONFLICT (name) DO UPDATE").Set("money = EXCLUDED.money").Returning("*").Exec(ctx)
	must(err)
	var found BunUser
	must(db.NewSelect().Model(&found).Relation("Posts", func(q *bun.SelectQuery) *bun.SelectQuery { return q.Order("id DESC") }).Where("u.name = ?", "Ada").Scan(ctx))
	check(found.Money == 20 && len(found.Posts) == 2 && found.Posts[0].Body == "two" && found.Tags[1] == "y" && found.Data["a"] == 1.5 && found.Raw[1] == 255, found)
	var post BunPost
	must(db.NewSelect().Model(&post).Relation("User").Where("p.id = ?", 1).Scan(ctx))
	check(post.User.Name == "Ada", post)
	users[0].Money, users[1].Money = 1, 2
	values := db.NewValues(&users)
	_, err = db.NewUpdate().With("_data", values).Model((*BunUser)(nil)).TableExpr("_data").Set("money = _data.money").Where("u.id = _data.id").Exec(ctx)
	must(err)
	_, err = db.NewUpdate().Model(&users).Column("money").Bulk().Exec(ctx)
	must(err)
	count, err := db.NewSelect().Model((*BunUser)(nil)).Where("tags @> ?", pgdialect.Array([]string{"x"})).WhereGroup(" OR ", func(q *bun.SelectQuery) *bun.SelectQuery { return q.Where("id IN (?)", bun.In([]int{2, 3})) }).Count(ctx)
	must(err)
	check(count == 2, count)
	must(db.RunInTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable}, func(ctx context.Context, tx bun.Tx) error {
		inner, err := tx.Begin()
		must(err)
		_, err = inner.NewDelete().Model((*BunPost)(nil)).Where("TRUE").Exec(ctx)
		must(err)
		must(inner.Rollback())
		return tx.NewSelect().Model(&found).Where("id = 1").For("UPDATE OF u").Scan(ctx)
	}))
	_, err = db.NewDelete().Model(&users[1]).WherePK().Exec(ctx)
	must(err)
	count, err = db.NewSelect().Model((*BunUser)(nil)).Count(ctx)
	must(err)
	check(count == 1, count)
	count, err = db.NewSelect().Model((*BunPost)(nil)).Count(ctx)
	must(err)
	check(count == 2, count)
	_, err = db.NewInsert().Model(&BunUser{Name: "Ada"}).Exec(ctx)
	var failed pgdriver.Error
	check(errors.As(err, &failed) && failed.IntegrityViolation() && failed.Field('C') == "23505", err)
	connection, err := db.Conn(ctx)
	must(err)
	_, err = pgdriver.CopyFrom(ctx, connection, strings.NewReader("9,1,copied\n"), "COPY bn_posts FROM STDIN WITH CSV")
	must(err)
	must(connection.Close())
	listener := pgdriver.NewListener(db)
	must(listener.Listen(ctx, "bn_channel"))
	go func() {
		time.Sleep(100 * time.Millisecond)
		must(pgdriver.Notify(ctx, db, "bn_channel", "hey"))
	}()
	_, said, err := listener.ReceiveTimeout(ctx, 20*time.Second)
	must(err)
	check(said == "hey", said)
	must(listener.Close())
	_, err = db.NewAddColumn().Model((*BunPost)(nil)).ColumnExpr("extra bigint DEFAULT 3").Exec(ctx)
	must(err)
	_, err = db.NewDropColumn().Model((*BunPost)(nil)).Column("extra").Exec(ctx)
	must(err)
	_, err = db.NewTruncateTable().Model((*BunUser)(nil)).Cascade().Exec(ctx)
	must(err)
	_, err = db.ExecContext(ctx, "DROP TABLE bn_posts, bn_users")
	must(err)
	must(db.Close())
}

// golang-migrate: its lock, versions, steps, a failed migration that is forced, and drop.
func tryingMigrate(dsn string) {
	db := sqlx.MustConnect("postgres", dsn)
	db.MustExec("DROP SCHEMA IF EXISTS gm CASCADE; CREATE SCHEMA gm")
	files, err := iofs.New(migrations, "migrations")
	must(err)
	migrating, err := migrate.NewWithSourceInstance("iofs", files, dsn+"&search_path=gm")
	must(err)
	must(migrating.Steps(1))
	err = migrating.Up()
	check(err != nil && strings.Contains(err.Error(), "division by zero"), err)
	version, dirty, err := migrating.Version()
	must(err)
	check(version == 3 && dirty, version, dirty)
	must(migrating.Force(2))
	must(migrating.Down())
	must(migrating.Migrate(2))
	check(migrating.Migrate(2) == migrate.ErrNoChange, "no change")
	must(migrating.Drop())
	migrating.Close()
	db.MustExec("DROP SCHEMA gm CASCADE")
	must(db.Close())
}

// goose: statements with dollars, without a transaction, its status, down and up again, under an advisory lock.
func tryingGoose(dsn string) {
	db := sqlx.MustConnect("postgres", dsn)
	db.MustExec("DROP TABLE IF EXISTS gs_people, goose_db_version; DROP FUNCTION IF EXISTS gs_touch() CASCADE")
	goose.SetBaseFS(gooses)
	goose.SetLogger(goose.NopLogger())
	must(goose.SetDialect("postgres"))
	must(goose.Up(db.DB, "goose"))
	must(goose.Status(db.DB, "goose"))
	version, err := goose.GetDBVersion(db.DB)
	must(err)
	check(version == 2, version)
	must(goose.Redo(db.DB, "goose"))
	must(goose.DownTo(db.DB, "goose", 0))
	must(goose.Up(db.DB, "goose"))
	must(goose.Reset(db.DB, "goose"))
	db.MustExec("DROP TABLE goose_db_version")
	must(db.Close())
}

type sortArgs struct {
	Words []string `json:"words"`
}

func (sortArgs) Kind() string { return "sort" }

type sortWorker struct {
	river.WorkerDefaults[sortArgs]
	done chan string
}

func (w *sortWorker) Work(ctx context.Context, job *river.Job[sortArgs]) error {
	if job.Args.Words[0] == "fails" && job.Attempt == 1 {
		return errors.New("once")
	}
	w.done <- job.Args.Words[0]
	return nil
}

func (w *sortWorker) NextRetry(*river.Job[sortArgs]) time.Time { return time.Now() }

// river: its migrations, jobs in transactions, many at once, unique ones, retries, a client that listens and leads.
func tryingRiver(dsn string) {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, dsn)
	must(err)
	_, err = pool.Exec(ctx, "DROP TABLE IF EXISTS river_client_queue, river_client, river_job, river_leader, river_queue, river_migration CASCADE; DROP TYPE IF EXISTS river_job_state CASCADE; DROP FUNCTION IF EXISTS river_job_notify() CASCADE; DROP FUNCTION IF EXISTS river_job_state_in_bitmask CASCADE")
	must(err)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	must(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	must(err)
	workers := river.NewWorkers()
	worker := &sortWorker{done: make(chan string, 100)}
	river.AddWorker(workers, worker)
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}}, Workers: workers, Schema: "public"})
	must(err)
	must(pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := client.InsertTx(ctx, tx, sortArgs{Words: []string{"first"}}, &river.InsertOpts{Priority: 2, Tags: []string{"tag"}, Metadata: []byte(`{"a": 1}`)})
		return err
	}))
	_, err = client.InsertMany(ctx, []river.InsertManyParams{{Args: sortArgs{Words: []string{"fails"}}}, {Args: sortArgs{Words: []string{"third"}}}})
	must(err)
	for range 2 {
		inserted, err := client.Insert(ctx, sortArgs{Words: []string{"unique"}}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByArgs: true}})
		must(err)
		check(inserted.Job.ID > 0, inserted)
	}
	later, err := client.Insert(ctx, sortArgs{Words: []string{"later"}}, &river.InsertOpts{ScheduledAt: time.Now().Add(time.Hour)})
	must(err)
	_, err = client.JobCancel(ctx, later.Job.ID)
	must(err)
	must(client.Start(ctx))
	seen := map[string]int{}
	for len(seen) < 4 {
		select {
		case word := <-worker.done:
			seen[word]++
		case <-time.After(60 * time.Second):
			check(false, seen)
		}
	}
	check(seen["unique"] == 1, seen)
	_, err = client.Insert(ctx, sortArgs{Words: []string{"heard"}}, nil)
	must(err)
	for word := <-worker.done; word != "heard"; {
		word = <-worker.done
	}
	must(client.Stop(ctx))
	listed, err := client.JobList(ctx, river.NewJobListParams().Kinds("sort").First(20))
	must(err)
	check(len(listed.Jobs) == 6, len(listed.Jobs))
	_, err = client.JobDelete(ctx, later.Job.ID)
	must(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionDown, &rivermigrate.MigrateOpts{TargetVersion: -1})
	must(err)
	pool.Close()
}
