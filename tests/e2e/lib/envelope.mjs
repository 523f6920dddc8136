// What every --json answer must be: one object, one newline, valid against its published schema. The
// program itself gives that schema, in the strict form: a key that no table declares is a failure.
import { spawnSync } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv2020 from 'ajv/dist/2020.js';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const abideBin = resolve(process.env.ABIDE_BIN ?? join(root, 'build-check/abide'));
const ajv = new Ajv2020.default({ allErrors: true, strict: false, validateFormats: false });
const validators = new Map();

/** The validator of a published schema in its strict form, or null when the program knows none. */
export function validatorFor(name) {
  if (!validators.has(name)) {
    const answer = spawnSync(abideBin, ['schema', '--strict', '--json', '--', name], { encoding: 'utf8' });
    const schema = answer.status === 0 ? JSON.parse(answer.stdout).data.schema : null;
    validators.set(name, schema && ajv.compile(schema));
  }
  return validators.get(name);
}

const bareCall = /\babide (init|await|status|start|update|done|accept|drop|log|receipts|doctor|config|schema|completion|help)\b/;

/** What an envelope breaks of its schema, in words, or null. */
export function schemaErrors(envelope) {
  const name = envelope.verb || 'envelope';
  const validate = validatorFor(name);
  if (!validate || validate(envelope)) return null;
  const what = validate.errors.map((e) => `${e.instancePath} ${e.message}${e.params.additionalProperty ? `: ${e.params.additionalProperty}` : ''}`);
  return `the envelope does not match the schema of ${name} (${what.join('; ')})`;
}

/** Parses and checks result.stdout; returns the envelope or throws with everything that was seen. */
export function checkEnvelope(result) {
  const complain = (what) => {
    throw new Error(`${what}: ${result.argv.join(' ')}\ncode ${result.code}\nstdout: ${result.stdout}\nstderr: ${result.stderr}`);
  };
  if (!result.stdout.endsWith('\n')) complain('stdout with --json does not end in a newline');
  let envelope;
  try {
    envelope = JSON.parse(result.stdout);
  } catch (error) {
    complain(`stdout with --json is not one JSON value (${error.message})`);
  }
  if (envelope === null || typeof envelope !== 'object' || Array.isArray(envelope)) complain('the envelope is not an object');
  if (/\n./s.test(result.stdout.trimEnd()) && result.stdout.split('\n').length > 2) {
    // Pretty printing would break line-based readers.
    complain('the envelope is more than one line');
  }
  if (typeof envelope.ok !== 'boolean' || typeof envelope.verb !== 'string') complain('the envelope lacks ok or verb');
  if (envelope.ok === ('error' in envelope) || envelope.ok === ('message' in envelope)) {
    complain('error and message must be there exactly when ok is false');
  }
  if (!envelope.ok && !(Array.isArray(envelope.hints) && envelope.hints.length > 0)) complain('a refusal without a hint');
  for (const key of ['hints', 'warnings']) {
    if (key in envelope && !(Array.isArray(envelope[key]) && envelope[key].every((x) => typeof x === 'string' && x !== ''))) {
      complain(`${key} is not a list of sentences`);
    }
  }
  for (const hint of envelope.hints ?? []) {
    if (bareCall.test(hint.replaceAll(/`[^`]*`/g, ''))) complain(`a hint names a call without marking where it begins and ends: ${hint}`);
  }
  // A wait for an ask that was denied, and a doctor that found something bad, have answered (1); a loop
  // stops for a person (3).
  const answered = { await: [1], doctor: [1], loop: [1, 3] }[envelope.verb] ?? [];
  if (envelope.ok && ![0, 124, 130, 143, ...answered].includes(result.code)) complain('ok is true and the exit status says otherwise');
  if (!envelope.ok && [0, 124].includes(result.code)) complain('ok is false and the exit status says otherwise');
  const broken = schemaErrors(envelope);
  if (broken) complain(broken);
  return envelope;
}
