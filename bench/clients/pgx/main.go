// pgx: arrays of Go's slices as parameters and results, CopyFrom, an error's code.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func same[T any](ctx context.Context, db *pgx.Conn, kind string, value T) {
	var found T
	check(db.QueryRow(ctx, "SELECT $1::"+kind, value).Scan(&found))
	if !reflect.DeepEqual(found, value) {
		check(fmt.Errorf("%s: %v, and not %v", kind, found, value))
	}
}

func main() {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, os.Args[1])
	check(err)
	defer db.Close(ctx)
	_, err = db.Exec(ctx, "DROP TABLE IF EXISTS gox")
	check(err)
	_, err = db.Exec(ctx, "CREATE TABLE gox (id bigint PRIMARY KEY, name text, made timestamptz, n int DEFAULT 7)")
	check(err)
	rows := [][]any{{int64(1), "a", time.Unix(0, 1000)}, {int64(2), nil, nil}, {int64(3), "", time.Unix(-1, 0)}}
	columns := []string{"id", "name", "made"}
	copied, err := db.CopyFrom(ctx, pgx.Identifier{"gox"}, columns, pgx.CopyFromRows(rows))
	check(err)
	if copied != 3 {
		check(fmt.Errorf("%d rows were copied", copied))
	}
	_, err = db.CopyFrom(ctx, pgx.Identifier{"gox"}, columns[:1], pgx.CopyFromRows([][]any{{int64(4)}, {int64(1)}}))
	var told *pgconn.PgError
	if !errors.As(err, &told) || told.Code != "23505" || told.Where != "COPY gox, line 2" {
		check(fmt.Errorf("a key that is there twice: %v", err))
	}
	var ids []int64
	check(db.QueryRow(ctx, "SELECT array_agg(id ORDER BY id) FROM gox WHERE id = ANY($1) AND n = 7", []int64{2, 3, 4}).Scan(&ids))
	if !reflect.DeepEqual(ids, []int64{2, 3}) {
		check(fmt.Errorf("the keys are %v", ids))
	}
	same(ctx, db, "text[]", []string{"a", "", "null", "{\"x\\"})
	same(ctx, db, "bool[]", []bool{true, false})
	same(ctx, db, "int2[]", []int16{-32768, 1})
	same(ctx, db, "int4[]", []int32{})
	same(ctx, db, "int8[]", []int64{-9223372036854775808})
	same(ctx, db, "float4[]", []float32{1.5})
	same(ctx, db, "float8[]", []float64{-1e300})
	same(ctx, db, "bytea[]", [][]byte{{0, 255}, {}})
	same(ctx, db, "uuid[]", [][16]byte{{1}, {2}})
	same(ctx, db, "int8", int64(1)<<40)
	same(ctx, db, "bytea", []byte{0, 255})
	same(ctx, db, "float8", 0.1)
	fmt.Println("pgx ok")
}
