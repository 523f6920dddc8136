#include "store/sql.h"

/*
 * Times are UTC milliseconds; object ids hex text, '' where there is none.
 * A change of the schema is a new entry at the end, never an edit of one that
 * was released.
 */
const char *const schema_migrations[] = {
        /* 1 */
        "CREATE TABLE event ("
        "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
        "  invocation TEXT NOT NULL," /* one per process: groups what it did */
        "  verb TEXT NOT NULL,"
        "  surface TEXT NOT NULL,"
        "  branch TEXT NOT NULL DEFAULT ''," /* full ref the verb works on */
        "  head TEXT NOT NULL DEFAULT '',"
        "  about TEXT NOT NULL DEFAULT ''," /* await: what for */
        "  begun_at INTEGER NOT NULL,"
        "  ended_at INTEGER,"
        "  outcome TEXT,"        /* ok, an error slug, interrupted; NULL: no end yet */
        "  duration_ms INTEGER," /* by the monotonic clock */
        "  waited_ms INTEGER NOT NULL DEFAULT 0,"
        "  pid INTEGER NOT NULL,"
        "  gate_digest TEXT NOT NULL DEFAULT ''"
        ") STRICT;"
        "CREATE INDEX event_open ON event (branch, id) WHERE outcome IS NULL;"
        "CREATE INDEX event_prior ON event (verb, gate_digest, id) WHERE outcome = 'ok';"
        "CREATE INDEX event_verb ON event (verb, id) WHERE outcome = 'ok';"
        "CREATE INDEX event_branch ON event (branch, id);"

        "CREATE TABLE task ("
        "  id TEXT PRIMARY KEY,"
        "  branch TEXT NOT NULL,"             /* full ref */
        "  worktree TEXT NOT NULL,"           /* absolute */
        "  git_dir TEXT NOT NULL DEFAULT ''," /* its own git folder, as recorded at start */
        "  base TEXT NOT NULL DEFAULT '',"
        "  base_name TEXT NOT NULL DEFAULT '',"
        "  port INTEGER,"
        "  made_by TEXT NOT NULL DEFAULT ''," /* surface */
        "  made_at INTEGER NOT NULL,"
        "  step TEXT NOT NULL,"                 /* store/task.h */
        "  adopted INTEGER NOT NULL DEFAULT 0," /* the branch was there before */
        "  copied TEXT NOT NULL DEFAULT '[]',"  /* JSON: what `copy` brought, with digests */
        "  detail TEXT NOT NULL DEFAULT '{}'"   /* JSON: what the step needs to be finished */
        ") STRICT;"
        "CREATE UNIQUE INDEX task_port ON task (port) WHERE port IS NOT NULL;"
        "CREATE INDEX task_branch ON task (branch);"

        "CREATE TABLE updating ("             /* merges that update has begun: store/update.h */
        "  git_dir TEXT PRIMARY KEY,"
        "  worktree TEXT NOT NULL,"
        "  branch TEXT NOT NULL," /* full ref */
        "  tip TEXT NOT NULL,"    /* the branch before */
        "  target TEXT NOT NULL," /* what is merged into it */
        "  result TEXT NOT NULL," /* the tree that comes out */
        "  message TEXT NOT NULL,"
        "  begun_at INTEGER NOT NULL"
        ") STRICT;"

        "CREATE TABLE gate_run ("
        "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
        "  branch TEXT NOT NULL,"
        "  commit_id TEXT NOT NULL,"
        "  tree_id TEXT NOT NULL,"
        "  gate_digest TEXT NOT NULL,"
        "  worktree TEXT NOT NULL,"
        "  state TEXT NOT NULL," /* store/run.h */
        "  detached INTEGER NOT NULL DEFAULT 0,"
        "  pid INTEGER NOT NULL DEFAULT 0,"
        "  started TEXT NOT NULL DEFAULT '',"  /* process start time and boot, for display and
                                                  signals */
        "  jobs TEXT NOT NULL DEFAULT '[]',"   /* JSON: name, state, exit, ms, log, tail */
        "  detail TEXT NOT NULL DEFAULT '{}'," /* JSON: what dirtied, what could not start */
        "  log_dir TEXT NOT NULL DEFAULT '',"
        "  begun_at INTEGER NOT NULL,"
        "  ended_at INTEGER"
        ") STRICT;"
        "CREATE INDEX gate_run_commit ON gate_run (commit_id, id);"
        "CREATE INDEX gate_run_tree ON gate_run (tree_id, gate_digest) WHERE state = 'passed';"
        "CREATE INDEX gate_run_branch ON gate_run (branch, id);"
        "CREATE INDEX gate_run_open ON gate_run (id) WHERE state = 'running';"

        "CREATE TABLE place ("
        "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
        "  queue TEXT NOT NULL,"
        "  what TEXT NOT NULL,"
        "  pid INTEGER NOT NULL,"
        "  since INTEGER NOT NULL"
        ") STRICT;"
        "CREATE INDEX place_queue ON place (queue, id);"

        "CREATE TABLE watch ("
        "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
        "  handle TEXT NOT NULL UNIQUE,"        /* canonical: upper case, no dashes */
        "  version INTEGER NOT NULL,"           /* of the record's JSON */
        "  question TEXT NOT NULL,"             /* canonical text of conditions and mode */
        "  trunk TEXT NOT NULL,"                /* short name */
        "  baseline TEXT NOT NULL,"             /* the trunk's tip when the watch began */
        "  worktree TEXT NOT NULL,"             /* where it was asked */
        "  state TEXT NOT NULL,"                /* open, met, stopped */
        "  record TEXT NOT NULL,"               /* JSON: conditions and what was seen of each */
        "  answer TEXT,"                        /* JSON: data of the met answer */
        "  delivered TEXT NOT NULL DEFAULT ''," /* how the last call ended: '' unknown, answered,
                                                   interrupted */
        "  pid INTEGER NOT NULL DEFAULT 0,"
        "  begun_at INTEGER NOT NULL,"
        "  used_at INTEGER NOT NULL,"
        "  ended_at INTEGER"
        ") STRICT;"
        "CREATE INDEX watch_question ON watch (question, worktree, id);"
        "CREATE INDEX watch_used ON watch (used_at);"
        "CREATE TABLE tombstone ("
        "  handle TEXT PRIMARY KEY,"
        "  died_at INTEGER NOT NULL"
        ") STRICT, WITHOUT ROWID;"

        "CREATE TABLE landing ("
        "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
        "  task TEXT NOT NULL,"   /* id, '' for a worktree that start did not make */
        "  branch TEXT NOT NULL," /* full ref */
        "  worktree TEXT NOT NULL,"
        "  git_dir TEXT NOT NULL DEFAULT '',"
        "  trunk TEXT NOT NULL,"               /* short name */
        "  tip TEXT NOT NULL,"                 /* the task's tip that is to land */
        "  old TEXT NOT NULL DEFAULT '',"      /* the trunk before */
        "  checkout TEXT NOT NULL DEFAULT ''," /* where the trunk is checked out, '' nowhere */
        "  step TEXT NOT NULL,"                /* store/landing.h */
        "  state TEXT NOT NULL,"               /* going, landed, refused, undone */
        "  slug TEXT NOT NULL DEFAULT '',"
        "  detail TEXT NOT NULL DEFAULT '{}'," /* JSON: files, warnings, kept, receipt */
        "  keep INTEGER NOT NULL DEFAULT 0,"
        "  surface TEXT NOT NULL,"
        "  pid INTEGER NOT NULL DEFAULT 0,"
        "  begun_at INTEGER NOT NULL,"
        "  ended_at INTEGER"
        ") STRICT;"
        "CREATE INDEX landing_branch ON landing (branch, id);"
        "CREATE INDEX landing_open ON landing (id) WHERE state = 'going';",
};

const int schema_version = (int)NELEMS(schema_migrations);
