// What wakes a wait: file events, and stat polling where they are not to be had.
import { unlinkSync, writeFileSync } from 'node:fs';
import { test, assert, lacksNamespaces, waitFor, wraps } from './lib/index.mjs';

/** A wait for the trunk that has armed, and how it ended after the trunk moved. */
async function moved(s, r, options = {}) {
  const p = s.spawnAbide(['await', '--trunk-moved', '--fresh', '--json', '--timeout', '60'], options);
  await p.idle();
  const next = r.commitOn('side', { 'x.txt': String(Math.random()) });
  const from = performance.now();
  r.moveTo('main', next);
  const res = await p.done();
  assert.equal(res.code, 0, res.stderr);
  assert.equal(res.json.data.met, true);
  return { data: res.json.data, ms: performance.now() - from };
}

test('a wait is woken by events', async (s) => {
  const r = await s.repo();
  assert.equal((await moved(s, r)).data.wake, 'events');
});

test('without an inotify instance a wait polls, and ends well before the slow re-check', { skip: lacksNamespaces() }, async (s) => {
  const r = await s.repo();
  const { data, ms } = await moved(s, r, { wrap: wraps.noInotifyInstances() });
  assert.equal(data.wake, 'polling');
  assert.ok(ms < 10000, `${ms} ms`);
});

test('without an inotify watch a wait polls', { skip: lacksNamespaces() }, async (s) => {
  const r = await s.repo();
  assert.equal((await moved(s, r, { wrap: wraps.inotifyWatches(0) })).data.wake, 'polling');
  assert.equal((await moved(s, r, { wrap: wraps.inotifyWatches(2) })).data.wake, 'polling');
});

test('waits leave three quarters of the file-event instances to others', { skip: lacksNamespaces() }, async (s) => {
  const r = await s.repo();
  const argv = ['await', '--trunk-moved', '--fresh', '--json', '--timeout', '60'];
  const waits = [];
  for (let i = 0; i < 4; i++) waits.push(s.spawnAbide(argv, { wrap: wraps.inotifyInstances(8) }));
  for (const p of waits) await p.idle();
  r.moveTo('main', r.commitOn('side', { 'x.txt': '1' }));
  const how = [];
  for (const p of waits) how.push((await p.done()).json.data.wake);
  assert.deepEqual(how.sort(), ['events', 'events', 'polling', 'polling']);
});

test('every wait of many is told of one move, and a packed ref is seen', async (s) => {
  const r = await s.repo();
  r.git(['pack-refs', '--all']);
  const argv = ['await', '--trunk-moved', '--fresh', '--json', '--timeout', '60'];
  const waits = Array.from({ length: 8 }, () => s.spawnAbide(argv));
  for (const p of waits) await p.idle();
  r.moveTo('main', r.commitOn('side', { 'x.txt': '1' }));
  for (const p of waits) assert.equal((await p.done()).json.data.met, true);
});

test('an unrelated storm of refs starts no git process', async (s) => {
  const r = await s.repo();
  const real = (await s.sh('command -v git')).trim();
  const log = s.write('git.log', '');
  s.program('git', `echo "$*" >>'${log}'; exec '${real}' "$@"`);
  const count = async () => Number(await s.sh(`wc -l <'${log}'`));
  const p = s.spawnAbide(['await', '--trunk-moved', '--fresh', '--json', '--timeout', '60']);
  await p.idle();
  const oid = r.head();
  const before = await count();
  await s.run(real, ['update-ref', '--stdin'], {
    cwd: r.dir,
    input: Array.from({ length: 200 }, (_, i) => `start\ncreate refs/heads/noise/${i} ${oid}\ncommit\n`).join(''),
  });
  await p.idle();
  assert.equal(await count(), before);
  await s.run(real, ['update-ref', 'refs/heads/main', r.commitOn('side', { 'x.txt': '1' })], { cwd: r.dir });
  assert.equal((await p.done()).json.data.met, true);
});

test('a signal ends a wait at once, by events and by polling', { skip: lacksNamespaces() }, async (s) => {
  await s.repo();
  for (const wrap of [[], wraps.noInotifyInstances()]) {
    const p = s.spawnAbide(['await', '--trunk-moved', '--fresh', '--json', '--timeout', '60'], { wrap });
    await p.idle();
    const from = performance.now();
    p.kill('SIGINT');
    const res = await p.done();
    assert.equal(res.json.data.met, false);
    assert.ok(performance.now() - from < 5000);
  }
});

test('an overflow of the event queue does not hide the decisive move', async (s) => {
  const r = await s.repo();
  const p = s.spawnAbide(['await', '--trunk-moved', '--fresh', '--json', '--timeout', '60']);
  await p.idle();
  p.kill('SIGSTOP');
  await waitFor(() => p.state() === 'T', { what: 'it stands still' });
  // Each pair is two events that the kernel cannot put together; it keeps 16,384.
  const noise = `${r.gitDir}/refs/heads/noise`;
  for (let i = 0; i < 10000; i++) {
    writeFileSync(noise, '');
    unlinkSync(noise);
  }
  r.moveTo('main', r.commitOn('side', { 'x.txt': '1' }));
  const from = performance.now();
  p.kill('SIGCONT');
  assert.equal((await p.done()).json.data.met, true);
  assert.ok(performance.now() - from < 10000);
});
