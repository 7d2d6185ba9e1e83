// Everyday calls of go-redis: go run . HOST:PORT. Writes "go-redis ok".
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

func check(what string, got, expected any, err error) {
	if err != nil || !reflect.DeepEqual(got, expected) {
		fmt.Fprintf(os.Stderr, "%s: got %v (%v), expected %v\n", what, got, err, expected)
		os.Exit(1)
	}
}

func main() {
	context, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client := redis.NewClient(&redis.Options{Addr: os.Args[1]})
	defer client.Close()
	pong, err := client.Ping(context).Result()
	check("PING", pong, "PONG", err)
	set, err := client.Set(context, "go:text", "hello", time.Minute).Result()
	check("SET", set, "OK", err)
	_, err = client.Get(context, "go:none").Result()
	check("GET", errors.Is(err, redis.Nil), true, nil)
	hash, err := client.HSet(context, "go:hash", "a", 1, "b", "two").Result()
	check("HSET", hash, int64(2), err)
	fields, err := client.HGetAll(context, "go:hash").Result()
	check("HGETALL", fields, map[string]string{"a": "1", "b": "two"}, err)
	client.ZAdd(context, "go:board", redis.Z{Score: 2, Member: "bob"}, redis.Z{Score: 1.5, Member: "ann"})
	board, err := client.ZRangeWithScores(context, "go:board", 0, -1).Result()
	check("ZRANGE", board, []redis.Z{{Score: 1.5, Member: "ann"}, {Score: 2, Member: "bob"}}, err)
	replies, err := client.TxPipelined(context, func(pipe redis.Pipeliner) error {
		pipe.Incr(context, "go:count")
		pipe.IncrBy(context, "go:count", 9)
		return nil
	})
	check("MULTI", replies[1].(*redis.IntCmd).Val(), int64(10), err)
	err = client.Watch(context, func(tx *redis.Tx) error {
		client.Set(context, "go:count", 1, 0)
		_, err := tx.TxPipelined(context, func(pipe redis.Pipeliner) error {
			pipe.Set(context, "go:count", 2, 0)
			return nil
		})
		return err
	}, "go:count")
	check("WATCH", errors.Is(err, redis.TxFailedErr), true, nil)
	script := redis.NewScript("return {KEYS[1], ARGV[1], redis.call('get', KEYS[1])}")
	said, err := script.Run(context, client, []string{"go:text"}, "x").Result()
	check("EVALSHA", said, []any{"go:text", "x", "hello"}, err)
	code := "#!lua name=golib\nredis.register_function('gofn', function(keys) return redis.call('get', keys[1]) end)"
	library, err := client.FunctionLoadReplace(context, code).Result()
	check("FUNCTION LOAD", library, "golib", err)
	called, err := client.FCall(context, "gofn", []string{"go:text"}).Result()
	check("FCALL", called, "hello", err)
	payload, err := client.Dump(context, "go:hash").Result()
	check("DUMP", len(payload) > 10, true, err)
	restored, err := client.Restore(context, "go:copy", 0, payload).Result()
	check("RESTORE", restored, "OK", err)
	client.XGroupCreateMkStream(context, "go:stream", "group", "0")
	client.XAdd(context, &redis.XAddArgs{Stream: "go:stream", Values: map[string]any{"n": 1}})
	read, err := client.XReadGroup(context, &redis.XReadGroupArgs{
		Group: "group", Consumer: "ann", Streams: []string{"go:stream", ">"}, Block: time.Second,
	}).Result()
	check("XREADGROUP", read[0].Messages[0].Values, map[string]any{"n": "1"}, err)
	channel := client.Subscribe(context, "go:news")
	defer channel.Close()
	_, err = channel.Receive(context)
	check("SUBSCRIBE", err, nil, err)
	client.Publish(context, "go:news", "first")
	message, err := channel.ReceiveMessage(context)
	check("PUBLISH", message.Payload, "first", err)
	client.RPush(context, "go:list", "a")
	popped, err := client.BLPop(context, time.Second, "go:list").Result()
	check("BLPOP", popped, []string{"go:list", "a"}, err)
	fmt.Println("go-redis ok")
}
