-- What the Brain remembers. Times are UTC epoch milliseconds, JSON is text.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE project (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE session (
    id TEXT PRIMARY KEY,
    principal TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('human', 'internal', 'robot')),
    project_id TEXT NOT NULL REFERENCES project (id),
    profile TEXT NOT NULL,
    client_key TEXT NOT NULL,
    client_id TEXT NOT NULL,
    client_name TEXT NOT NULL,
    client_type TEXT NOT NULL,
    journal_id TEXT,
    epoch INTEGER NOT NULL,
    connected INTEGER NOT NULL CHECK (connected IN (0, 1)),
    created_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    -- when its client went away without a `disconnect`, while it is away
    dropped_at INTEGER,
    closed_at INTEGER
) STRICT;

CREATE INDEX session_bootstrap ON session (principal, project_id, profile, seen_at)
WHERE closed_at IS NULL;

CREATE TABLE process (
    id TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES project (id),
    session_id TEXT REFERENCES session (id),
    principal TEXT NOT NULL,
    owner INTEGER NOT NULL CHECK (owner IN (0, 1)),
    title TEXT NOT NULL,
    goal TEXT NOT NULL,
    engine TEXT NOT NULL,
    workflow_id TEXT,
    definition TEXT NOT NULL,
    input TEXT NOT NULL,
    recipe TEXT,
    connection_profile TEXT NOT NULL,
    autonomous INTEGER NOT NULL CHECK (autonomous IN (0, 1)),
    pin TEXT,
    served_by TEXT,
    status TEXT NOT NULL CHECK (
        status IN ('running', 'paused', 'blocked', 'waiting', 'done', 'failed', 'stopped')
    ),
    open_tasks INTEGER NOT NULL CHECK (open_tasks >= 0),
    has_failed INTEGER NOT NULL DEFAULT 0 CHECK (has_failed IN (0, 1)),
    result TEXT,
    idempotency_key TEXT,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((ended_at IS NOT NULL) = (status IN ('done', 'failed', 'stopped')))
) STRICT;

CREATE UNIQUE INDEX process_idempotency ON process (principal, idempotency_key)
WHERE idempotency_key IS NOT NULL;
CREATE INDEX process_open ON process (created_at) WHERE ended_at IS NULL;
CREATE INDEX process_project ON process (project_id, created_at);

CREATE TABLE task (
    id TEXT PRIMARY KEY,
    process_id TEXT NOT NULL REFERENCES process (id),
    parent_id TEXT REFERENCES task (id),
    -- the task of the definition this row is an instance of; one lane of the scheduler
    node TEXT NOT NULL,
    key TEXT NOT NULL,
    goal TEXT NOT NULL,
    tool TEXT,
    -- execution order within the process; task-move changes it
    rank REAL NOT NULL,
    item TEXT,
    item_index INTEGER,
    continue_on_error INTEGER NOT NULL CHECK (continue_on_error IN (0, 1)),
    open_deps INTEGER NOT NULL CHECK (open_deps >= 0),
    open_children INTEGER NOT NULL DEFAULT 0 CHECK (open_children >= 0),
    status TEXT NOT NULL CHECK (
        status IN (
            'pending', 'running', 'done', 'failed', 'skipped', 'cancelled', 'blocked', 'queued'
        )
    ),
    cause_kind TEXT CHECK (
        cause_kind IN (
            'ready', 'dependency', 'children', 'client_tool', 'server_tool', 'approval',
            'outcome_unknown', 'budget', 'input', 'retry_at', 'paused'
        )
    ),
    cause_what TEXT,
    cause_key TEXT,
    cause_since INTEGER,
    wakes_on TEXT,
    -- where it runs or ran: 'server' or the key of the client
    side TEXT,
    result TEXT,
    error TEXT,
    -- start_within, as the instant at which the wait for a client is over
    start_by INTEGER,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    -- exactly one cause while it is neither running nor ended, and none otherwise
    CHECK ((cause_kind IS NOT NULL) = (status IN ('pending', 'blocked', 'queued'))),
    CHECK ((ended_at IS NOT NULL) = (status IN ('done', 'failed', 'skipped', 'cancelled')))
) STRICT;

CREATE INDEX task_of_process ON task (process_id, rank);
CREATE INDEX task_key ON task (process_id, key);
CREATE UNIQUE INDEX task_children ON task (parent_id, item_index) WHERE parent_id IS NOT NULL;
CREATE INDEX task_ready ON task (process_id, node, rank)
WHERE status = 'pending' AND cause_kind = 'ready';
CREATE INDEX task_running ON task (process_id) WHERE status = 'running';
CREATE INDEX task_held ON task (process_id, status) WHERE status IN ('blocked', 'queued');
CREATE INDEX task_waits ON task (cause_key, id)
WHERE cause_kind IN ('client_tool', 'server_tool');
CREATE INDEX task_start_by ON task (start_by) WHERE start_by IS NOT NULL;

CREATE TABLE task_dep (
    on_task_id TEXT NOT NULL REFERENCES task (id),
    task_id TEXT NOT NULL REFERENCES task (id),
    -- whether a template of the task uses the result it depends on
    uses INTEGER NOT NULL CHECK (uses IN (0, 1)),
    PRIMARY KEY (on_task_id, task_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_dep_of ON task_dep (task_id);

CREATE TABLE call (
    id TEXT PRIMARY KEY,
    process_id TEXT NOT NULL REFERENCES process (id),
    task_id TEXT NOT NULL REFERENCES task (id),
    tool TEXT NOT NULL,
    args TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    effect TEXT NOT NULL CHECK (effect IN ('read', 'idempotent', 'once')),
    state TEXT NOT NULL CHECK (
        state IN (
            'parked', 'dispatched', 'accepted', 'succeeded', 'failed', 'cancelled',
            'rejected', 'expired', 'unknown', 'retried', 'resolved'
        )
    ),
    decision TEXT NOT NULL,
    reason TEXT NOT NULL,
    -- who has it: 'server', or a client with the session and epoch it was sent on
    side TEXT,
    session_id TEXT,
    epoch INTEGER,
    journal_id TEXT,
    attempt INTEGER NOT NULL DEFAULT 0,
    timeout_ms INTEGER NOT NULL,
    result TEXT,
    error TEXT,
    created_at INTEGER NOT NULL,
    dispatched_at INTEGER,
    accepted_at INTEGER,
    ended_at INTEGER
) STRICT;

CREATE UNIQUE INDEX call_open ON call (task_id)
WHERE state IN ('parked', 'dispatched', 'accepted', 'unknown');
CREATE INDEX call_of_task ON call (task_id, created_at);
CREATE INDEX call_at_work ON call (session_id) WHERE state IN ('dispatched', 'accepted');

CREATE TABLE offer (
    principal TEXT NOT NULL,
    client_key TEXT NOT NULL,
    tool TEXT NOT NULL,
    type TEXT NOT NULL,
    mcp_server TEXT,
    description TEXT NOT NULL,
    first_at INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    PRIMARY KEY (tool, principal, client_key)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    project_id TEXT,
    session_id TEXT,
    process_id TEXT,
    task_id TEXT,
    body TEXT
) STRICT;

CREATE INDEX event_of_project ON event (project_id, seq);

-- other changes, besides its cause's own, after which a held task is worth asking about
CREATE TABLE task_wake (
    kind TEXT NOT NULL CHECK (kind IN ('client_tool', 'server_tool')),
    key TEXT NOT NULL,
    task_id TEXT NOT NULL REFERENCES task (id),
    PRIMARY KEY (kind, key, task_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_wake_of ON task_wake (task_id);
