// What every --json answer must be: one object, one newline, valid against its published schema.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv2020 from 'ajv/dist/2020.js';

const schemas = resolve(dirname(fileURLToPath(import.meta.url)), '../../../schema');
const ajv = new Ajv2020.default({ allErrors: true, strict: false, validateFormats: false });
const validators = new Map();

function validatorFor(verb) {
  if (!validators.has(verb)) {
    const path = join(schemas, `${verb}.schema.json`);
    validators.set(verb, existsSync(path) ? ajv.compile(JSON.parse(readFileSync(path, 'utf8'))) : null);
  }
  return validators.get(verb);
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
  // A wait for an ask that was denied is understood and answered (1); a loop stops for a person (3).
  const answered = { await: [1], loop: [1, 3] }[envelope.verb] ?? [];
  if (envelope.ok && ![0, 124, 130, 143, ...answered].includes(result.code)) complain('ok is true and the exit status says otherwise');
  if (!envelope.ok && [0, 124].includes(result.code)) complain('ok is false and the exit status says otherwise');
  const validate = validatorFor(envelope.verb);
  if (validate && !validate(envelope)) complain(`the envelope does not match schema/${envelope.verb}.schema.json (${ajv.errorsText(validate.errors)})`);
  return envelope;
}
