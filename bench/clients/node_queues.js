// Queues of jobs and stores of Node on PostgreSQL; node_libraries.js runs them: pg-boss, graphile-worker, keyv,
// connect-pg-simple, pg-listen.
const assert = require('node:assert');

const same = assert.deepStrictEqual;

// Waits until a condition holds, at most for a minute.
async function until(holds) {
  for (let turn = 0; !(await holds()); turn++) {
    if (turn > 1200) throw new Error(`not within a minute: ${holds}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

module.exports = {
  // pg-boss: its schema of functions and partitions, queues, retries, schedules, workers.
  async pg_boss(dsn, pg) {
    const PgBoss = require('pg-boss');
    await pg('DROP SCHEMA IF EXISTS boss CASCADE');
    const boss = new PgBoss({ connectionString: dsn, schema: 'boss' });
    const errors = [];
    boss.on('error', (error) => errors.push(error));
    await boss.start();
    await boss.createQueue('mail', { policy: 'standard', retryLimit: 2 });
    await boss.createQueue('single', { policy: 'singleton' });
    const id = await boss.send('mail', { to: 'a' }, { priority: 5, singletonKey: 'k', expireInSeconds: 60 });
    await boss.insert([{ name: 'mail', data: { to: 'b' } }, { name: 'mail', data: { to: 'c' } }]);
    same(await boss.getQueueSize('mail'), 3);
    const [job] = await boss.fetch('mail', { includeMetadata: true });
    same([job.id, job.data, job.priority], [id, { to: 'a' }, 5]);
    await boss.complete('mail', job.id, { sent: true });
    same((await boss.getJobById('mail', id)).state, 'completed');
    const [second] = await boss.fetch('mail');
    await boss.fail('mail', second.id, { why: 'x' });
    same((await boss.getJobById('mail', second.id)).state, 'retry');
    const later = await boss.sendAfter('mail', { to: 'd' }, {}, 3600);
    await boss.cancel('mail', later);
    await boss.resume('mail', later);
    await boss.deleteJob('mail', later);
    const done = [];
    await boss.work('mail', { pollingIntervalSeconds: 0.5, batchSize: 5 }, async (jobs) => { done.push(...jobs.map((one) => one.data.to)); });
    await until(() => done.length >= 2);
    await boss.schedule('mail', '*/5 * * * *', { to: 'e' }, { tz: 'Europe/Berlin' });
    same((await boss.getSchedules()).map((one) => [one.name, one.cron]), [['mail', '*/5 * * * *']]);
    await boss.unschedule('mail');
    await boss.subscribe('event', 'mail');
    await boss.publish('event', { to: 'f' });
    await until(() => done.includes('f'));
    same((await boss.getQueues()).map((one) => one.name).filter((name) => !name.startsWith('__')).sort(), ['mail', 'single']);
    await boss.maintain();
    await boss.purgeQueue('mail');
    await boss.deleteQueue('single');
    await boss.stop({ graceful: false });
    same(errors, []);
    await pg('DROP SCHEMA boss CASCADE');
  },

  // graphile-worker: its migrations of functions and types, jobs with keys, queues, cron, a worker that listens.
  async graphile_worker(dsn, pg) {
    const { run, runMigrations, runOnce, makeWorkerUtils, Logger } = require('graphile-worker');
    await pg('DROP SCHEMA IF EXISTS graphile_worker CASCADE');
    const logger = new Logger(() => () => {});
    await runMigrations({ connectionString: dsn, logger });
    const utils = await makeWorkerUtils({ connectionString: dsn, logger });
    await utils.migrate();
    const done = [];
    const taskList = { hello: async (payload, helpers) => { done.push(payload.n); if (payload.n === 3 && helpers.job.attempts === 1) throw new Error('once'); } };
    await utils.addJob('hello', { n: 1 }, { queueName: 'q', priority: 1 });
    await utils.addJob('hello', { n: 0 }, { jobKey: 'k', runAt: new Date(Date.now() + 3600e3) });
    await utils.addJob('hello', { n: 2 }, { jobKey: 'k', jobKeyMode: 'replace', maxAttempts: 3, flags: ['f'] });
    await utils.addJobs([{ identifier: 'hello', payload: { n: 4 } }, { identifier: 'hello', payload: { n: 5 } }]);
    await runOnce({ connectionString: dsn, taskList, logger });
    same([...done].sort(), [1, 2, 4, 5]);
    const failing = await utils.addJob('hello', { n: 3 }, { maxAttempts: 2 });
    await runOnce({ connectionString: dsn, taskList, logger });
    await utils.rescheduleJobs([failing.id], { runAt: new Date(), attempts: 1 });
    await runOnce({ connectionString: dsn, taskList: { hello: async (payload) => { done.push(payload.n * 10); } }, logger });
    same(done.slice(4), [3, 30]);
    const runner = await run({ connectionString: dsn, taskList, logger, concurrency: 2, pollInterval: 60000, noHandleSignals: true, crontab: '* * * * * hello {"n": 77}' });
    await utils.withPgClient((client) => client.query("SELECT graphile_worker.add_job('hello', json_build_object('n', 6))"));
    await until(() => done.includes(6));
    await runner.stop();
    const dead = await utils.addJob('hello', { n: 9 });
    same((await utils.permanentlyFailJobs([dead.id], 'no')).length, 1);
    same((await utils.completeJobs([dead.id])).length, 1);
    await utils.cleanup({ tasks: ['GC_TASK_IDENTIFIERS', 'GC_JOB_QUEUES', 'DELETE_PERMAFAILED_JOBS'] });
    await utils.release();
    await pg('DROP SCHEMA graphile_worker CASCADE');
  },

  // keyv: keys with times to live and namespaces.
  async keyv(dsn, pg) {
    const { Keyv } = require('keyv');
    const { default: KeyvPostgres } = require('@keyv/postgres');
    await pg('DROP TABLE IF EXISTS kv_cache');
    const store = new KeyvPostgres({ uri: dsn, table: 'kv_cache' });
    const keyv = new Keyv({ store, namespace: 'a' });
    await keyv.set('x', { n: 1 });
    await keyv.set('x', { n: 2 }, 60000);
    await keyv.set('short', 1, 1);
    same(await keyv.get('x'), { n: 2 });
    same(await keyv.get(['x', 'none']), [{ n: 2 }, undefined]);
    same(await keyv.has('x'), true);
    await new Promise((done) => setTimeout(done, 10));
    same(await keyv.get('short'), undefined);
    const seen = [];
    for await (const [key] of keyv.iterator()) seen.push(key);
    same(seen, ['x']);
    same(await keyv.delete('x'), true);
    await keyv.clear();
    await keyv.disconnect();
  },

  // connect-pg-simple: sessions of Express in a table.
  async connect_pg(dsn, pg) {
    const session = require('express-session');
    const Store = require('connect-pg-simple')(session);
    await pg('DROP TABLE IF EXISTS cp_sessions');
    const store = new Store({ conString: dsn, tableName: 'cp_sessions', createTableIfMissing: true, pruneSessionInterval: false });
    const call = (verb, ...given) => new Promise((good, bad) => store[verb](...given, (error, value) => (error ? bad(error) : good(value))));
    await call('set', 'a', { cookie: { maxAge: 60000 }, n: 1 });
    await call('set', 'a', { cookie: { maxAge: 60000 }, n: 2 });
    same((await call('get', 'a')).n, 2);
    await call('touch', 'a', { cookie: { maxAge: 90000 } });
    await call('set', 'old', { cookie: { expires: new Date(0) } });
    await call('pruneSessions');
    await call('destroy', 'a');
    same(await call('get', 'a'), undefined);
    await store.close();
    await pg('DROP TABLE cp_sessions');
  },

  // pg-listen: channels, payloads in JSON.
  async pg_listen(dsn) {
    const listen = require('pg-listen');
    const subscriber = (listen.default ?? listen)({ connectionString: dsn });
    const heard = [];
    subscriber.notifications.on('pl_one', (payload) => heard.push(payload));
    await subscriber.connect();
    await subscriber.listenTo('pl_one');
    await subscriber.notify('pl_one', { a: 1 });
    await until(() => heard.length === 1);
    same(heard, [{ a: 1 }]);
    same(subscriber.getSubscribedChannels(), ['pl_one']);
    await subscriber.unlistenAll();
    await subscriber.close();
  },
};
