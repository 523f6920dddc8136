// Completion scripts, run by the shells themselves.
import { spawnSync } from 'node:child_process';
import { test, assert } from './lib/index.mjs';

const lacks = (shell) => spawnSync(shell, ['-c', 'exit 0']).status !== 0 && `no ${shell} on this machine`;

const complete = async (s, words, options = {}) => {
  const r = await s.abide(['__complete', '--', ...words], options);
  assert.equal(r.code, 0);
  assert.equal(r.stderr, '');
  return r.stdout.split('\n').slice(0, -1).map((line) => line.split('\t')[0]);
};

/** Presses the tab key behind `line` in bash: what the words may become. */
async function bash(s, line) {
  const script = `
    source <(abide completion bash)
    compopt() { :; }
    COMP_LINE=$1 COMP_POINT=\${#1}
    # As readline splits the line.
    IFS=$'\\n' read -r -d '' -a COMP_WORDS < <(printf '%s' "$1" | sed -E 's/([=:@])/\\n\\1\\n/g; s/ +/\\n/g')
    [[ $1 == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _abide abide
    ((\${#COMPREPLY[@]})) && printf '%s\\n' "\${COMPREPLY[@]}"
    exit 0`;
  const r = await s.run('bash', ['--norc', '-c', script, 'bash', line], { cwd: s.cwd ?? s.dir });
  assert.equal(r.stderr, '', line);
  return r.stdout.split('\n').slice(0, -1);
}

test('verbs, options and closed lists come from the table', async (s) => {
  const verbs = (await s.ok(['help'])).verbs.map((v) => v.name);
  assert.deepEqual(await complete(s, ['']), verbs);
  assert.deepEqual(await complete(s, ['--json', '']), verbs);
  assert.deepEqual(await complete(s, ['-C', '/', 'hel']), ['help']);
  assert.deepEqual(await complete(s, ['--color', '']), ['auto', 'always', 'never']);
  assert.deepEqual(await complete(s, ['--color=al']), ['--color=always']);
  assert.deepEqual(await complete(s, ['completion', '']), ['bash', 'zsh', 'fish']);
  assert.deepEqual(await complete(s, ['completion', 'bash', '']), []);
  assert.deepEqual(await complete(s, ['help', 'comp']), ['completion']);
  assert.deepEqual(await complete(s, ['schema', 'env']), ['envelope']);
  assert.deepEqual(await complete(s, ['-C', '']), [':dirs']);
  assert.deepEqual((await complete(s, ['await', '--t'])).sort(), ['--timeout', '--trunk-moved']);
  assert.ok((await complete(s, ['await', '--'])).includes('--landed'));
  assert.ok(!(await complete(s, ['await', '--fresh', '--'])).includes('--fresh'), 'a flag that stands there is offered again');
  assert.deepEqual(await complete(s, ['nonsense', '']), verbs);
  assert.deepEqual(await complete(s, []), verbs);
});

test('hidden verbs and options are not offered', async (s) => {
  assert.ok((await complete(s, ['_'])).length === 0);
  assert.ok(!(await complete(s, ['schema', '--'])).includes('--strict'));
  assert.ok(!(await complete(s, ['--'])).includes('--surface'));
});

test('branches, tasks and handles come from the repository', async (s) => {
  const r = await s.repo();
  r.branch('feature/one');
  r.branch('feature/two');
  r.branch('other');
  assert.deepEqual(await complete(s, ['await', '--landed', 'feature/']), ['feature/one', 'feature/two']);
  assert.deepEqual(await complete(s, ['await', '--landed=oth']), ['--landed=other']);
  const tree = r.worktree('feature/one');
  const { resume } = await s.ok(['await', '--trunk-moved', '--timeout', '0'], { code: 124 });
  assert.deepEqual(await complete(s, ['await', '--resume', '']), [resume]);
  assert.deepEqual(await complete(s, ['await', '--resume', 'W-NONE']), []);
  assert.deepEqual(await complete(s, ['-C', tree, 'await', '--landed', 'oth'], { cwd: s.dir }), ['other']);
  const verbs = (await s.ok(['help'])).verbs.map((v) => v.name);
  if (verbs.includes('accept')) assert.ok((await complete(s, ['accept', 'feature'])).includes('feature/one'));
});

test('outside a repository nothing is offered and nothing is said', async (s) => {
  assert.deepEqual(await complete(s, ['await', '--landed', ''], { cwd: s.dir }), []);
  assert.deepEqual(await complete(s, ['-C', '/nowhere', 'await', '--landed', '']), []);
});

test('completing changes nothing', async (s) => {
  const r = await s.repo();
  await complete(s, ['await', '--resume', '']);
  await complete(s, ['await', '--landed', '']);
  assert.equal(r.hasStore(), false);
});

test('bash completes verbs, options and branches with every breaking character', { skip: lacks('bash') }, async (s) => {
  const r = await s.repo();
  r.branch('feature/one');
  r.branch('user@host');
  assert.deepEqual(await bash(s, 'abide comp'), ['completion']);
  assert.deepEqual(await bash(s, 'abide completion '), ['bash', 'zsh', 'fish']);
  assert.deepEqual(await bash(s, 'abide --color '), ['auto', 'always', 'never']);
  assert.deepEqual(await bash(s, 'abide --color=al'), ['always']);
  assert.deepEqual(await bash(s, 'abide --color='), ['auto', 'always', 'never']);
  assert.deepEqual(await bash(s, 'abide await --landed fea'), ['feature/one']);
  assert.deepEqual(await bash(s, 'abide await --landed=fea'), ['feature/one']);
  assert.deepEqual(await bash(s, 'abide await --landed user@h'), ['host']);
  assert.deepEqual(await bash(s, 'abide await --landed=user@h'), ['host']);
});

test('bash gets odd branch names quoted', { skip: lacks('bash') }, async (s) => {
  const r = await s.repo();
  r.branch("odd$(touch${IFS}x)'name");
  const [candidate] = await bash(s, 'abide await --landed odd');
  const back = await s.run('bash', ['-c', `printf '%s' ${candidate}`]);
  assert.equal(back.stdout, "odd$(touch${IFS}x)'name");
});

test('bash takes the script from a file for completion on demand', { skip: lacks('bash') }, async (s) => {
  const script = (await s.abide(['completion', 'bash'])).stdout;
  s.write('abide.bash', script);
  const r = await s.run('bash', ['--norc', '-c', '. ./abide.bash; complete -p abide']);
  assert.equal(r.stdout, 'complete -F _abide abide\n');
});

test('zsh completes verbs and branches', { skip: lacks('zsh') }, async (s) => {
  const r = await s.repo();
  r.branch('feature/one');
  s.write('zdot/.zshrc', `
    autoload -Uz compinit; compinit -u -d ${s.dir}/zdot/dump
    PS1='> '; unsetopt zle_bracketed_paste prompt_sp
    zstyle ':completion:*' list-colors ''
    source <(abide completion zsh)
    print ready
  `);
  s.write('zpty.zsh', `
    zmodload zsh/zpty
    zpty z ZDOTDIR=${s.dir}/zdot TERM=dumb zsh -i
    zpty -r z out '*ready*'
    for line in "$@"; do
      zpty -w -n z "$line"$'\\t'
      # What was completed stands in the line once a marker typed behind it comes back.
      zpty -w -n z '@'
      zpty -r z out '*@*'
      print -r -- "$out"
      zpty -w -n z $'\\C-u'
    done
    zpty -d z
  `);
  const run = await s.run('zsh', ['-f', 'zpty.zsh', 'abide comp', 'abide await --landed fea', 'abide completion fi', 'abide --color=alw'], { timeout: 30000, cwd: s.dir, env: { HOME: s.dir } });
  const out = run.stdout.replaceAll(/\u001b\[[0-9;?]*[a-zA-Z]/g, '');
  assert.match(out, /abide completion/);
  assert.match(out, /completion fish/);
  assert.match(out, /--color=always/);
});

test('fish completes verbs, options and branches', { skip: lacks('fish') }, async (s) => {
  const r = await s.repo();
  r.branch('feature/one');
  const fish = async (line) => {
    const run = await s.run('fish', ['--no-config', '-c', 'abide completion fish | source; complete -C $argv[1]', line], { cwd: r.dir });
    assert.equal(run.stderr, '');
    return run.stdout.split('\n').slice(0, -1).map((l) => l.split('\t')[0]);
  };
  assert.deepEqual(await fish('abide comp'), ['completion']);
  assert.deepEqual(await fish('abide completion '), ['bash', 'fish', 'zsh']);
  assert.deepEqual(await fish('abide await --landed fea'), ['feature/one']);
  assert.deepEqual(await fish('abide --color=al'), ['--color=always']);
});

test('an unknown shell is refused', async (s) => {
  const e = await s.refused(['completion', 'tcsh'], 'invalid_arguments');
  assert.match(e.message, /bash, zsh and fish/);
  assert.match((await s.refused(['completion'], 'invalid_arguments')).message, /needs a word/);
});
