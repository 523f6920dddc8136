// The published schemas: from the tables, for every verb, and true.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import { test, assert } from './lib/index.mjs';
import { checkEnvelope } from './lib/envelope.mjs';

const published = async (s, name) => (await s.ok(['schema', name])).schema;

test('there is a schema for every verb, the envelope, the receipt, abide.yaml', async (s) => {
  const verbs = (await s.ok(['help'])).verbs.map((v) => v.name);
  const { names } = await s.ok(['schema']);
  assert.deepEqual(names, [...verbs, 'envelope', 'receipt', 'abide.yaml'].sort());
  assert.equal((await s.abide(['schema'])).stdout, names.map((n) => `${n}\n`).join(''));
  assert.deepEqual(JSON.parse((await s.abide(['schema', 'await'])).stdout), await published(s, 'await'));
  assert.equal((await s.ok(['schema', 'abide.yaml'])).file, 'schema/abide.schema.json');
});

test('every schema is a good one of 2020-12', async (s) => {
  const dir = s.path('generated', '.');
  const { files } = await s.ok(['__generate', dir]);
  const ajv = new Ajv2020.default({ allErrors: true, strict: true, strictRequired: false, allowUnionTypes: true });
  const ids = new Set();
  for (const file of files.filter((f) => f.startsWith('schema/'))) {
    assert.match(file, /^schema\/[a-z-]+\.schema\.json$/);
    const schema = JSON.parse(readFileSync(join(dir, file), 'utf8'));
    assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema');
    assert.ok(ajv.validateSchema(schema), `${file}: ${ajv.errorsText()}`);
    assert.ok(!ids.has(schema.$id), schema.$id);
    ids.add(schema.$id);
    ajv.compile(schema);
  }
});

test('published schemas allow what a later version adds; the strict form does not', async (s) => {
  const ajv = new Ajv2020.default({ strict: false });
  const envelope = (await s.abide(['help', '--json'])).json;
  const loose = ajv.compile(await published(s, 'help'));
  const strict = new Ajv2020.default({ strict: false }).compile((await s.ok(['schema', 'help', '--strict'])).schema);
  assert.ok(loose(envelope) && strict(envelope));
  for (const more of [{ ...envelope, later: 1 }, { ...envelope, data: { ...envelope.data, later: 1 } },
    { ...envelope, data: { ...envelope.data, verbs: [{ ...envelope.data.verbs[0], later: 1 }] } }]) {
    assert.ok(loose(more));
    assert.ok(!strict(more));
  }
  assert.ok(strict({ ...envelope, data: { ...envelope.data, text_bytes: 'Zg==' } }));
});

test('the envelope schema holds the rules of the envelope', async (s) => {
  const valid = new Ajv2020.default({ strict: false }).compile(await published(s, 'envelope'));
  const bad = { ok: false, verb: 'x', hints: ['h'], warnings: [], error: 'busy', message: 'm' };
  assert.ok(valid({ ok: true, verb: 'x' }));
  assert.ok(valid(bad));
  for (const broken of [{ verb: 'x' }, { ok: true }, { ok: true, verb: 'x', error: 'busy' }, { ok: true, verb: 'x', message: 'm' },
    { ...bad, hints: [] }, { ...bad, hints: [''] }, { ...bad, error: 'other' }, { ...bad, message: undefined }, { ...bad, hints: undefined },
    { ok: 'yes', verb: 'x' }, { ok: true, verb: 'x', data: [] }]) {
    assert.ok(!valid(JSON.parse(JSON.stringify(broken))), JSON.stringify(broken));
  }
});

test('the harness sees a key that no table declares', async (s) => {
  const r = await s.run('abide', ['help', '--json']);
  const envelope = JSON.parse(r.stdout);
  assert.doesNotThrow(() => checkEnvelope(r));
  r.stdout = `${JSON.stringify({ ...envelope, data: { ...envelope.data, undeclared: 1 } })}\n`;
  assert.throws(() => checkEnvelope(r), /does not match the schema of help .*undeclared/);
  delete envelope.data.text;
  r.stdout = `${JSON.stringify(envelope)}\n`;
  assert.throws(() => checkEnvelope(r), /text/);
});

test('an unknown name is refused with the nearest one', async (s) => {
  const e = await s.refused(['schema', 'envelop'], 'unknown_target');
  assert.ok(e.hints.includes('Did you mean `abide schema envelope`?'));
  await s.refused(['schema', '../../etc/passwd'], 'unknown_target');
});

test('a receipt that a landing leaves is what its schema says, to the last key', async (s) => {
  const r = await s.repo({ gate: { test: 'true' } });
  const { path } = await s.ok(['start', 'fix', '--exact']);
  const oid = r.commit({ new: '1' }, 'work', { cwd: path });
  await s.ok(['accept', 'fix']);
  const note = JSON.parse(r.git(['notes', '--ref=refs/notes/abide', 'show', oid]));
  const validate = new Ajv2020.default({ strict: false }).compile((await s.ok(['schema', 'receipt', '--strict'])).schema);
  assert.ok(validate(note), JSON.stringify([validate.errors, note]));
  for (const key of Object.keys(note)) {
    if (key === 'accepted') continue;
    const { [key]: gone, ...rest } = note;
    assert.ok(!validate(rest), `a receipt without ${key} is valid`);
  }
});
