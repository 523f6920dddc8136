// The published schemas: from the tables, for every verb, and true.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import { test, assert, root } from './lib/index.mjs';
import { checkEnvelope } from './lib/envelope.mjs';

const published = async (s, name) => (await s.ok(['schema', name])).schema;

test('there is a schema for every verb, the envelope, the receipt', async (s) => {
  const verbs = (await s.ok(['help'])).verbs.map((v) => v.name);
  const { names } = await s.ok(['schema']);
  for (const name of [...verbs, 'envelope', 'receipt']) assert.ok(names.includes(name), name);
  assert.equal((await s.abide(['schema'])).stdout, names.map((n) => `${n}\n`).join(''));
  const ajv = new Ajv2020.default({ allErrors: true, strict: true, strictRequired: false });
  const ids = new Set();
  for (const name of names) {
    const { schema, file } = await s.ok(['schema', name]);
    assert.equal(schema.$schema, 'https://json-schema.org/draft/2020-12/schema');
    assert.ok(ajv.validateSchema(schema), `${name}: ${ajv.errorsText()}`);
    assert.match(file, /^schema\/[a-z-]+\.schema\.json$/);
    ids.add(schema.$id);
    ajv.compile(schema);
    assert.deepEqual(JSON.parse((await s.abide(['schema', name])).stdout), schema);
  }
  assert.equal(ids.size, names.length);
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

test('the committed schemas are what the program publishes', async (s) => {
  const { names } = await s.ok(['schema']);
  const files = [];
  for (const name of names) {
    const { file, schema } = await s.ok(['schema', name]);
    files.push(file.slice('schema/'.length));
    let committed = null;
    try {
      committed = JSON.parse(readFileSync(join(root, file), 'utf8'));
    } catch (error) {
      assert.equal(error.code, 'ENOENT');
    }
    assert.deepEqual(committed, schema, `${file} is out of date: run \`make generate\``);
  }
  const there = readdirSync(join(root, 'schema')).filter((name) => name.endsWith('.json'));
  assert.deepEqual(there.sort(), files.sort(), 'schema/ holds files that are no schema any more: run `make generate`');
});
