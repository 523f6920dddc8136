// Many tasks that wait for each other, in rounds, for a given time, while the repository is repacked
// under them and their waiting calls are killed. See tests/e2e/soak.
import assert from 'node:assert/strict';
import { Sandbox } from './sandbox.mjs';

const seconds = Number(process.argv[2]);
const tasks = Number(process.argv[3]);
const seed = Number(process.env.ABIDE_SOAK_SEED ?? Date.now() % 1000000);
// How long after a landing a wait for it may still be held.
const lagLimit = Number(process.env.ABIDE_SOAK_LAG_MS ?? 1000);

// A small generator, so that a seed brings the same dependencies and kills again.
let random = seed;
function below(n) {
  random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
  return Math.floor((random / 2 ** 32) * n);
}

const s = new Sandbox();
const seen = { waits: 0, calls: 0, killed: 0, continued: 0, updates: 0, lag: 0 };
const landedAt = new Map(); // task → when its receipt says that it landed
let failure = null;
let rounds = 0;

// One wait, however often its calls are killed: always the same question, or its handle.
async function waitFor(name, cwd) {
  let args = ['await', '--landed', name, '--may-start', '--json'];
  for (;;) {
    seen.calls++;
    const call = s.spawnAbide(args, { cwd });
    const timer = below(3) === 0 ? setTimeout(() => { seen.killed++; call.kill('SIGKILL'); }, below(800)) : null;
    const { json, code, signal } = await call.done({ timeout: 240000 });
    clearTimeout(timer);
    if (signal === 'SIGKILL') continue;
    assert.ok(json?.ok, `await ${name}: ${JSON.stringify(json)}`);
    if (json.data.continued) seen.continued++;
    if (json.data.met) {
      assert.equal(code, 0);
      seen.waits++;
      return { at: Date.now(), held: json.data.elapsed_ms };
    }
    args = ['await', '--resume', json.data.resume, '--json'];
  }
}

async function landTask(name, path, cwd) {
  for (let tries = 0; ; tries++) {
    const done = await s.abide(['done', '--json'], { cwd: path, timeout: 240000 });
    const answer = done.json.ok ? await s.abide(['accept', name, '--json'], { cwd, timeout: 240000 }) : done;
    if (answer.json.ok) return answer.json.data;
    // Somebody landed in between is no fault; anything else, or that for ever, is.
    assert.ok(['busy', 'behind_trunk'].includes(answer.json.error) && tries < 60, `${name}: ${JSON.stringify(answer.json)}`);
    await s.ok(['update'], { cwd: path });
    seen.updates++;
  }
}

async function work(repo, name, needs) {
  const made = await s.ok(['start', name, '--exact']);
  for (const need of needs) {
    const { at, held } = await waitFor(need, made.path);
    const lag = at - landedAt.get(need);
    // A wait that was asked after the landing tells nothing about waking.
    if (landedAt.has(need) && held > lag) seen.lag = Math.max(seen.lag, lag);
  }
  if (needs.length) await s.ok(['update'], { cwd: made.path });
  repo.commit({ [`${name}.txt`]: `${name}\n` }, name, { cwd: made.path });
  const data = await landTask(name, made.path, repo.dir);
  landedAt.set(name, data.receipt.landed_at);
  return data.commit;
}

// What else goes on in a repository: housekeeping, and branches that nobody waits for.
async function disturb(repo, stop) {
  const deeds = [
    () => repo.git(['pack-refs', '--all', '--prune'], { ok: [1, 128] }),
    () => repo.git(['gc', '-q', '--no-prune'], { ok: [1, 128] }),
    () => repo.git(['update-ref', `refs/heads/other/b${below(5)}`, 'refs/heads/main'], { ok: [1, 128] }),
    () => repo.git(['branch', '-q', '-D', `other/b${below(5)}`], { ok: [1, 128] }),
    () => repo.git(['worktree', 'prune'], { ok: [1, 128] }),
  ];
  while (!stop.now) {
    deeds[below(deeds.length)]();
    await new Promise((resolve) => { setImmediate(() => setTimeout(resolve, below(60))); });
  }
}

function check(repo, names, commits) {
  const log = repo.git(['log', '--format=%H %P', 'refs/heads/main']).trim().split('\n').map((l) => l.split(' '));
  const parents = new Map(log.map(([commit, ...p]) => [commit, p]));
  for (const [i, commit] of commits.entries()) assert.ok(parents.has(commit), `${names[i]} did not land`);
  const subjects = repo.git(['log', '--format=%s', 'refs/heads/main']).split('\n');
  for (const name of names) assert.equal(subjects.filter((l) => l === name).length, 1, `${name} stands ${subjects.filter((l) => l === name).length} times on the trunk`);
  assert.equal(repo.git(['worktree', 'list', '--porcelain']).match(/^worktree /gm).length, 1, 'worktrees were left');
  assert.equal(repo.git(['for-each-ref', 'refs/heads/agent/']), '', 'branches were left');
}

try {
  const repo = await s.repo({ gate: { quick: 'test -f README' } });
  const begin = repo.tip('main');
  const end = Date.now() + seconds * 1000;
  console.log(`soak: seed ${seed}`);
  do {
    const names = Array.from({ length: tasks }, (_, i) => `r${rounds}t${i}`);
    // Only on earlier ones, so that there is no cycle; up to three each.
    const needs = names.map((_, i) => names.slice(0, i).filter(() => below(Math.max(i, 2)) < 2).slice(-3));
    const stop = { now: false };
    const noise = disturb(repo, stop);
    try {
      const commits = await Promise.all(names.map((name, i) => work(repo, name, needs[i])));
      stop.now = true;
      await noise;
      check(repo, names, commits);
    } finally {
      stop.now = true;
      await noise;
    }
    rounds++;
    console.log(`round ${rounds}: ${rounds * tasks} landed; ${seen.waits} waits met in ${seen.calls} calls, ${seen.killed} killed, `
      + `${seen.continued} continued; ${seen.updates} updates; longest hold after a landing ${seen.lag} ms`);
    assert.ok(seen.lag <= lagLimit, `a wait was held ${seen.lag} ms past its landing (limit ${lagLimit})`);
  } while (Date.now() < end);
  // Every value that the trunk had is a landing with a receipt that verifies.
  const verified = await s.ok(['receipts', 'verify']);
  assert.equal(verified.receipts.length, rounds * tasks, `${verified.receipts.length} receipts for ${rounds * tasks} landings`);
  repo.git(['merge-base', '--is-ancestor', begin, 'refs/heads/main']);
  repo.git(['fsck', '--no-dangling', '--strict']);
} catch (error) {
  failure = error;
  console.error(s.transcript(40));
}
const left = await s.close();
for (const problem of left) console.error(problem);
if (failure) console.error(failure.stack);
if (failure || left.length > 0) process.exit(1);
console.log(`soak: ${rounds * tasks} landings, ${seen.waits} waits, nothing lost`);
