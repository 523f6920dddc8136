// One line a test, everything that is known about a failure, and the counts for `make check`.
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';

const seconds = (ms) => (ms / 1000).toFixed(2) + ' s';
const indent = (text) => text.replace(/^/gm, '    ');

function explain(error) {
  const cause = error?.cause ?? error;
  const text = cause?.stack ?? String(cause);
  return cause?.message && !text.includes(cause.message) ? `${cause.message}\n${text}` : text;
}

export default async function* reporter(events) {
  let passed = 0, failed = 0, skipped = 0;
  const failures = [];
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') {
      yield data.message;
      continue;
    }
    if (type === 'test:diagnostic') {
      if (data.file && data.nesting === 0 && data.message.startsWith('sandbox ')) yield indent(data.message) + '\n';
      continue;
    }
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.details?.type === 'suite') continue;
    const name = data.name.includes(': ') ? data.name : `${basename(data.file ?? '')}: ${data.name}`;
    const whole = data.name === data.file || data.name.endsWith('.test.mjs');
    if (type === 'test:pass') {
      if (whole) continue; // a file, not a test
      if (data.skip !== undefined && data.skip !== false) {
        skipped++;
        yield `skip ${name}${typeof data.skip === 'string' ? ` (${data.skip})` : ''}\n`;
      } else {
        passed++;
        yield `ok   ${name} (${seconds(data.details.duration_ms)})\n`;
      }
      continue;
    }
    const error = data.details?.error;
    if (error?.failureType === 'subtestsFailed') continue;
    failed++;
    failures.push(`${name}`);
    yield `FAIL ${name}\n${indent(explain(error))}\n`;
  }
  if (failures.length > 0) yield `failed:\n${indent(failures.join('\n'))}\n`;
  yield `end-to-end: ${passed} passed, ${failed} failed, ${skipped} skipped\n`;
  if (process.env.ABIDE_SUMMARY) writeFileSync(process.env.ABIDE_SUMMARY, `${passed} ${failed} ${skipped}\n`);
}
