// BullMQ: a queue whose scripts write its events into a stream; delayed, repeated and failed jobs; a flow of jobs.
const assert = require('node:assert');
const { FlowProducer, Queue, QueueEvents, Worker } = require('bullmq');

async function main(host, port) {
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue('bullmq', { connection });
  await queue.obliterate({ force: true });
  const events = new QueueEvents('bullmq', { connection });
  await events.waitUntilReady();
  let tries = 0;
  const worker = new Worker('bullmq', async (job) => {
    if (job.name === 'fails') throw new Error('on purpose');
    if (job.name === 'tries' && (tries += 1) < 3) throw new Error('once more');
    return job.data.number * 2;
  }, { connection, concurrency: 4 });
  const jobs = await queue.addBulk(Array.from({ length: 20 }, (_, number) => ({ name: 'doubles', data: { number } })));
  const results = await Promise.all(jobs.map((job) => job.waitUntilFinished(events, 30000)));
  assert.deepStrictEqual(results, jobs.map((_, number) => number * 2));
  const delayed = await queue.add('delayed', { number: 21 }, { delay: 50, priority: 2 });
  assert.strictEqual(await delayed.waitUntilFinished(events, 30000), 42);
  const again = await queue.add('tries', { number: 1 }, { attempts: 3, backoff: { type: 'fixed', delay: 10 } });
  assert.strictEqual(await again.waitUntilFinished(events, 30000), 2);
  const failing = await queue.add('fails', {});
  await assert.rejects(failing.waitUntilFinished(events, 30000), /on purpose/);
  const flows = new FlowProducer({ connection });
  const child = { name: 'child', queueName: 'bullmq', data: { number: 3 } };
  const flow = await flows.add({ name: 'parent', queueName: 'bullmq', data: { number: 4 }, children: [child] });
  assert.strictEqual(await flow.job.waitUntilFinished(events, 30000), 8);
  const counts = await queue.getJobCounts('completed', 'failed', 'waiting', 'active', 'delayed');
  assert.deepStrictEqual(counts, { completed: 24, failed: 1, waiting: 0, active: 0, delayed: 0 });
  await Promise.all([worker.close(), flows.close(), events.close()]);
  await queue.close();
  console.log('bullmq ok');
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
