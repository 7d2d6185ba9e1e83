// pgx with several hosts: one transaction at the host that serves.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	ctx := context.Background()
	db, err := pgx.Connect(ctx, os.Args[1])
	check(err)
	defer db.Close(ctx)
	_, err = db.Exec(ctx, "INSERT INTO numbers VALUES ($1::bigint) ON CONFLICT DO NOTHING", os.Args[2])
	check(err)
	var count int64
	check(db.QueryRow(ctx, "SELECT count(*) FROM numbers").Scan(&count))
	fmt.Println(count)
}
