import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.JedisPubSub;
import redis.clients.jedis.Transaction;
import redis.clients.jedis.params.SetParams;

/** Everyday calls of Jedis and Lettuce: java RedisClients.java jedis|lettuce HOST PORT. Writes "jedis ok" or "lettuce ok". */
public class RedisClients {
    static void check(String what, Object got, Object expected) {
        if (!Objects.equals(got, expected)) {
            throw new AssertionError(what + ": got " + got + ", expected " + expected);
        }
    }

    static void jedis(String host, int port) throws Exception {
        try (JedisPooled pool = new JedisPooled(host, port); Jedis one = new Jedis(host, port)) {
            check("SET", pool.set("jedis:text", "hello", SetParams.setParams().ex(60)), "OK");
            check("GET", pool.get("jedis:text"), "hello");
            pool.hset("jedis:hash", Map.of("a", "1", "b", "two"));
            check("HGETALL", pool.hgetAll("jedis:hash"), Map.of("a", "1", "b", "two"));
            pool.zadd("jedis:board", Map.of("ann", 1.5, "bob", 2.0));
            check("ZRANGE", pool.zrange("jedis:board", 0, -1), List.of("ann", "bob"));
            Transaction transaction = one.multi();
            transaction.incr("jedis:count");
            transaction.incrBy("jedis:count", 9);
            check("EXEC", transaction.exec(), List.<Object>of(1L, 10L));
            one.watch("jedis:count");
            pool.set("jedis:count", "5");
            Transaction late = one.multi();
            late.set("jedis:count", "6");
            check("WATCH", late.exec(), null);
            check("EVAL", pool.eval("return redis.call('get', KEYS[1])", List.of("jedis:text"), List.of()), "hello");
            byte[] payload = pool.dump("jedis:hash");
            check("RESTORE", pool.restore("jedis:copy", 0, payload), "OK");
            String code = "#!lua name=jedislib\nredis.register_function('jedisfn', function(keys) return redis.call('get', keys[1]) end)";
            check("FUNCTION LOAD", pool.functionLoadReplace(code), "jedislib");
            check("FCALL", pool.fcall("jedisfn", List.of("jedis:text"), List.of()), "hello");
            CompletableFuture<String> heard = new CompletableFuture<>();
            CountDownLatch listens = new CountDownLatch(1);
            JedisPubSub listener = new JedisPubSub() {
                @Override
                public void onSubscribe(String channel, int count) {
                    listens.countDown();
                }

                @Override
                public void onMessage(String channel, String message) {
                    heard.complete(message);
                    unsubscribe();
                }
            };
            Thread thread = new Thread(() -> {
                try (Jedis other = new Jedis(host, port)) {
                    other.subscribe(listener, "jedis:news");
                }
            });
            thread.start();
            listens.await(30, TimeUnit.SECONDS);
            pool.publish("jedis:news", "first");
            check("SUBSCRIBE", heard.get(30, TimeUnit.SECONDS), "first");
            thread.join();
        }
    }

    static void lettuce(String host, int port) throws Exception {
        RedisClient client = RedisClient.create("redis://" + host + ":" + port);
        try (StatefulRedisConnection<String, String> connection = client.connect()) {
            var commands = connection.sync();
            check("SET", commands.setex("lettuce:text", 60, "hello"), "OK");
            check("GET", commands.get("lettuce:text"), "hello");
            commands.hset("lettuce:hash", Map.of("a", "1", "b", "two"));
            check("HGETALL", commands.hgetall("lettuce:hash"), Map.of("a", "1", "b", "two"));
            commands.multi();
            commands.incr("lettuce:count");
            commands.incrby("lettuce:count", 9);
            check("EXEC", commands.exec().<Long>get(1), 10L);
            String[] keys = {"lettuce:text"};
            check("EVAL", commands.eval("return redis.call('get', KEYS[1])", ScriptOutputType.VALUE, keys), "hello");
            check("RESTORE", commands.restore("lettuce:copy", 0, commands.dump("lettuce:hash")), "OK");
            String code = "#!lua name=lettucelib\nredis.register_function('lettucefn', function(keys) return redis.call('get', keys[1]) end)";
            check("FUNCTION LOAD", commands.functionLoad(code, true), "lettucelib");
            check("FCALL", commands.fcall("lettucefn", ScriptOutputType.VALUE, keys), "hello");
            var id = commands.xadd("lettuce:stream", Map.of("n", "1"));
            check("XRANGE", commands.xlen("lettuce:stream"), 1L);
            check("XADD", id.contains("-"), true);
            CompletableFuture<String> heard = new CompletableFuture<>();
            try (var listening = client.connectPubSub()) {
                listening.addListener(new RedisPubSubAdapter<String, String>() {
                    @Override
                    public void message(String channel, String message) {
                        heard.complete(message);
                    }
                });
                listening.sync().subscribe("lettuce:news");
                commands.publish("lettuce:news", "first");
                check("SUBSCRIBE", heard.get(30, TimeUnit.SECONDS), "first");
            }
        }
        client.shutdown();
    }

    public static void main(String[] arguments) throws Exception {
        String host = arguments[1];
        int port = Integer.parseInt(arguments[2]);
        switch (arguments[0]) {
            case "jedis" -> jedis(host, port);
            case "lettuce" -> lettuce(host, port);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
        System.out.println(arguments[0] + " ok");
        System.exit(0);
    }
}
