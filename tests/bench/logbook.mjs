// Does a long logbook slow `status` down?
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { median, printTurns, reach, rounds, table, turns } from './lib.mjs';

/** Offers EVENTS ended events of several verbs and branches, as if they had been written by calls. */
function offer(r, events) {
  const db = new DatabaseSync(join(r.gitDir, 'abide/state.db'));
  const put = db.prepare(`INSERT INTO event (invocation, verb, surface, branch, begun_at, ended_at, outcome, duration_ms, pid)
    VALUES (?, ?, 'cli', ?, ?, ?, ?, ?, 1)`);
  const verbs = ['done', 'accept', 'await', 'start', 'update', 'status'];
  const now = Date.now();
  db.exec('BEGIN');
  for (let i = 0; i < events; i++) {
    const at = now - (events - i) * 1000;
    put.run(`i${i}`, verbs[i % 6], `refs/heads/agent/t${i % 200}`, at, at + 500, i % 9 ? 'ok' : 'gate_red', 500 + (i % 1000));
  }
  db.exec('COMMIT');
  const kept = db.prepare('SELECT count(*) AS n FROM event').get().n;
  db.close();
  return kept;
}

await table('status with 1,000 and with 1,000,000 events offered to the logbook', { needs: ['status', 'start'] }, async (b) => {
  const make = async (name, events) => {
    const r = b.repo(name);
    for (let i = 0; i < 5; i++) await b.s.ok(['start', `t${i}`, '--exact'], { cwd: r.dir });
    if (!existsSync(join(r.gitDir, 'abide/state.db'))) throw new Error('no store');
    offer(r, events);
    b.time(['abide', 'start', 'last', '--exact', '--json'], { cwd: r.dir }); // a verb that keeps the logbook in bounds
    b.time(['abide', 'status'], { cwd: r.dir });
    return r;
  };
  const few = await make('few', 1000);
  const many = await make('many', 1000000);
  const once = (r) => ({ n: rounds(25), once: () => b.time(['abide', 'status'], { cwd: r.dir }) });
  const got = await turns({ '1,000 events': once(few), '1,000,000 events': once(many) });
  printTurns(got);
  reach('slower by', median(got['1,000,000 events']) - median(got['1,000 events']), 10);
});
