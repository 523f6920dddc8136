// Many tasks, waits and landings at once, for a given time. See tests/e2e/soak.
import assert from 'node:assert/strict';
import { Sandbox } from './sandbox.mjs';

const seconds = Number(process.argv[2]);
const tasks = Number(process.argv[3]);

const s = new Sandbox();
let failure = null;
let rounds = 0, waits = 0, calls = 0;

async function waitUntilLanded(name) {
  let args = ['await', '--landed', name, '--may-start', '--timeout', '2'];
  for (;;) {
    calls++;
    const { json, code } = await s.abide([...args, '--json'], { timeout: 120000 });
    assert.ok(json.ok, `await ${name}: ${JSON.stringify(json)}`);
    if (json.data.met) { assert.equal(code, 0); waits++; return; }
    assert.equal(code, 124);
    assert.ok(json.data.resume, 'not yet, and no handle to go on with');
    args = ['await', '--resume', json.data.resume, '--timeout', '2'];
  }
}

async function work(repo, name) {
  const made = await s.ok(['start', name, '--exact']);
  const oid = repo.commit({ [`${name}.txt`]: `${name}\n` }, name, { cwd: made.path });
  await s.ok(['done'], { cwd: made.path, timeout: 120000 });
  for (let tries = 0; ; tries++) {
    const { json } = await s.abide(['accept', name, '--json'], { timeout: 120000 });
    if (json.ok) return oid;
    // Another landing in between is no fault; anything else, or that for ever, is.
    assert.ok(['busy', 'behind_trunk'].includes(json.error) && tries < 50, `accept ${name}: ${JSON.stringify(json)}`);
  }
}

try {
  const repo = await s.repo({ gate: { quick: 'test -f README' } });
  const end = Date.now() + seconds * 1000;
  do {
    const names = Array.from({ length: tasks }, (_, i) => `r${rounds}t${i}`);
    const [, commits] = await Promise.all([
      Promise.all(names.map(waitUntilLanded)),
      Promise.all(names.map((name) => work(repo, name))),
    ]);
    for (const oid of commits) {
      repo.git(['merge-base', '--is-ancestor', oid, 'refs/heads/main']);
    }
    rounds++;
    const receipts = repo.git(['notes', '--ref=refs/notes/abide', 'list']).split('\n').filter(Boolean).length;
    assert.ok(receipts > 0 && receipts <= rounds * tasks, `${receipts} receipts after ${rounds * tasks} landings`);
    assert.equal(repo.git(['worktree', 'list', '--porcelain']).match(/^worktree /gm).length, 1, 'worktrees were left');
    console.log(`round ${rounds}: ${rounds * tasks} landed, ${waits} waits met in ${calls} calls`);
  } while (Date.now() < end);
  repo.git(['fsck', '--no-dangling', '--strict']);
} catch (error) {
  failure = error;
  console.error(s.transcript(40));
}
const left = await s.close();
for (const problem of left) console.error(problem);
if (failure) console.error(failure.stack);
if (failure || left.length > 0) process.exit(1);
console.log(`soak: ${rounds * tasks} landings, ${waits} waits, nothing lost`);
