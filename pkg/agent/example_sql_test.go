// Copyright The ServiceBulkhead Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"log"
	"log/slog"
	"time"

	"github.com/servicebulkhead/servicebulkhead/pkg/agent"
	"github.com/servicebulkhead/servicebulkhead/pkg/bulkheadconfig"
	"github.com/servicebulkhead/servicebulkhead/pkg/limiter"
)

// A query is in flight until its rows are closed, because they hold a connection:
// so the call is all of it, from the query to the last row. The context that Do
// hands out goes to the query, so that a lapse closes the rows.
//
// Give the pool at least as many connections as the limit (db.SetMaxOpenConns):
// then calls wait in front of the bulkhead, within a budget, and not in the pool,
// where they wait for as long as their context allows.
func Example_databaseSQL() {
	a, err := agent.New("/etc/servicebulkhead", agent.WithLogger(slog.New(slog.DiscardHandler)), agent.WithLameDuck(0),
		agent.WithUnlisted(agent.Defaults(map[string]bulkheadconfig.Service{
			"orders": {Limit: 10, MaxWait: 50 * time.Millisecond, ReclaimAfter: 30 * time.Second},
		})))
	if err != nil {
		log.Fatal(err)
	}
	db := sql.OpenDB(fakeDatabase{"apples", "pears"})
	db.SetMaxOpenConns(10)
	if err := a.CloseOnShutdown("database", db); err != nil {
		log.Fatal(err)
	}
	orders := a.Bulkhead("orders")

	names, err := limiter.Call(context.Background(), orders, func(ctx context.Context) (names []string, err error) {
		rows, err := db.QueryContext(ctx, "SELECT name FROM orders")
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return nil, err
			}
			names = append(names, name)
		}
		fmt.Println("in flight while rows are read:", orders.InFlight())
		return names, rows.Err()
	})
	fmt.Println(names, err)
	fmt.Println("in flight afterwards:", orders.InFlight())

	report, err := a.Shutdown(context.Background())
	fmt.Println(report.Closed, "dependency closed,", err)
	// Output:
	// in flight while rows are read: 1
	// [apples pears] <nil>
	// in flight afterwards: 0
	// 1 dependency closed, <nil>
}

// fakeDatabase is a driver whose every query has these rows.
type fakeDatabase []string

func (d fakeDatabase) Connect(context.Context) (driver.Conn, error) { return fakeConn{d}, nil }
func (d fakeDatabase) Driver() driver.Driver                        { return d }
func (d fakeDatabase) Open(string) (driver.Conn, error)             { return fakeConn{d}, nil }

type fakeConn struct{ names []string }

func (fakeConn) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }
func (fakeConn) Begin() (driver.Tx, error)           { return nil, driver.ErrSkip }
func (fakeConn) Close() error                        { return nil }

func (c fakeConn) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	return &fakeRows{c.names}, nil
}

type fakeRows struct{ names []string }

func (*fakeRows) Columns() []string { return []string{"name"} }
func (*fakeRows) Close() error      { return nil }

func (r *fakeRows) Next(to []driver.Value) error {
	if len(r.names) == 0 {
		return io.EOF
	}
	to[0], r.names = r.names[0], r.names[1:]
	return nil
}
