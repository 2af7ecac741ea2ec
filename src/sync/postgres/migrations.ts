// The schema. A text that a version has shipped never changes: a later one is added.

const OBJECTS_AND_HEAD = `
  CREATE TABLE skillsyncd.object (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest bytea NOT NULL UNIQUE,
    size bigint NOT NULL,
    label text,
    bytes bytea NOT NULL,
    -- The time at which a process stored or found it last, to within some minutes. A collection spares recent ones.
    touched timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  -- Few objects have a label: those from which a search for a kind of object begins, oldest first.
  CREATE INDEX object_label ON skillsyncd.object (label, id) WHERE label IS NOT NULL;

  CREATE TABLE skillsyncd.head (
    sequence bigint PRIMARY KEY,
    generation bytea NOT NULL
  );

  -- What outlives the objects of a head, by the same rules as in the store of each process.
  CREATE TABLE skillsyncd.record (
    sequence bigint PRIMARY KEY,
    at bigint NOT NULL,
    total bigint NOT NULL,
    has_leaving boolean NOT NULL,
    text text NOT NULL
  );
  CREATE INDEX record_at ON skillsyncd.record (at);
  CREATE INDEX record_total ON skillsyncd.record (total, sequence);

  -- One row: the head that is served. A swap changes it, and adds a row to the heads. Each change of the head or of a
  -- document counts the version up in the same transaction. So versions have the order of the commits.
  CREATE TABLE skillsyncd.present (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    sequence bigint NOT NULL,
    generation bytea,
    epoch bigint NOT NULL,
    version bigint NOT NULL
  );
  INSERT INTO skillsyncd.present (sequence, generation, epoch, version) VALUES (0, NULL, 0, 0);

  -- Small texts beside the objects: decisions, tokens, the records of sources. One without bytes was removed. The texts
  -- that each process changes have a row from the first day: so one that was lost is not taken for one that was never
  -- written.
  CREATE TABLE skillsyncd.document (
    name text PRIMARY KEY,
    version bigint NOT NULL,
    bytes bytea
  );
  CREATE INDEX document_version ON skillsyncd.document (version);
  INSERT INTO skillsyncd.document (name, version) VALUES ('decisions', 0), ('tokens', 0);

  -- One row: the process that leads, until its lease ends. Times are those of the server. Each new lead raises the epoch
  -- in the row of the present head, which fences what the leader writes.
  CREATE TABLE skillsyncd.leader (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    holder text,
    since timestamptz,
    until timestamptz NOT NULL
  );
  INSERT INTO skillsyncd.leader (holder, until) VALUES (NULL, '-infinity');

  -- The processes of the hub. One that ends removes its row; one that was killed is forgotten after a while.
  CREATE TABLE skillsyncd.replica (
    id text PRIMARY KEY,
    name text NOT NULL,
    program text NOT NULL,
    started timestamptz NOT NULL,
    seen timestamptz NOT NULL,
    version bigint NOT NULL,
    sequence bigint NOT NULL,
    -- A digest of the part of the configuration that all processes must have alike; NULL until the process has one.
    config text
  );

  -- Requests that the leader answers for the other processes.
  CREATE TABLE skillsyncd.command (
    id uuid PRIMARY KEY,
    method text NOT NULL,
    params text NOT NULL,
    asked timestamptz NOT NULL DEFAULT clock_timestamp(),
    epoch bigint,
    answer text
  );
  CREATE INDEX command_open ON skillsyncd.command (asked) WHERE answer IS NULL;

  -- The sessions of clients, so that each works at every process. The replica owns it: it notifies the client. A session
  -- without a catalog of its own was notified of the one that its replica names.
  CREATE TABLE skillsyncd.session (
    key text PRIMARY KEY,
    replica text NOT NULL,
    wanted text,
    principal text,
    address text,
    view text,
    -- The revision of the protocol that was negotiated.
    revision text,
    used timestamptz NOT NULL,
    notified_mark text
  );
  CREATE INDEX session_owner ON skillsyncd.session (replica);
  CREATE INDEX session_used ON skillsyncd.session (used);

  -- The URI as the client wrote it can be longer than an index takes, so that its digest stands for it.
  CREATE TABLE skillsyncd.session_subscription (
    key text NOT NULL REFERENCES skillsyncd.session ON DELETE CASCADE,
    digest bytea NOT NULL,
    requested text NOT NULL,
    canonical text NOT NULL,
    PRIMARY KEY (key, digest)
  );

  -- The processes that own sessions. The row of one that is gone stays as long as its sessions need it.
  CREATE TABLE skillsyncd.session_replica (
    replica text PRIMARY KEY,
    notified_mark text,
    seen timestamptz NOT NULL
  );

  -- The catalogs that sessions were notified of last, as JSON. Many sessions name the same one.
  CREATE TABLE skillsyncd.session_mark (
    id text PRIMARY KEY,
    mark text NOT NULL,
    used timestamptz NOT NULL
  );

  -- Changes of sessions for their owner, by other processes: of one subscription, or of the row of the session.
  CREATE TABLE skillsyncd.session_news (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    replica text NOT NULL,
    key text NOT NULL,
    requested text,
    canonical text,
    generation bigint,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX session_news_replica ON skillsyncd.session_news (replica, id);

  -- The logs of channels, which only grow: a second entry at one place would be a fork.
  CREATE TABLE skillsyncd.log_entry (
    log text NOT NULL,
    position bigint NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (log, position)
  );

  -- The readers that are signed in to the page. The name is a hash of what their browsers have.
  CREATE TABLE skillsyncd.page_session (
    name text PRIMARY KEY,
    principal text NOT NULL,
    details jsonb NOT NULL,
    opened timestamptz NOT NULL,
    ends timestamptz NOT NULL
  );
  CREATE INDEX page_session_principal ON skillsyncd.page_session (principal, opened);
  CREATE INDEX page_session_opened ON skillsyncd.page_session (opened);
  CREATE INDEX page_session_ends ON skillsyncd.page_session (ends);
`

/**
 * The counts of use of all processes of a hub. A skill and a pack can be longer than an index takes, so that a digest of
 * the whole key stands for it. The uses of each content of a skill are totals, one row for each state folder, so that a
 * process can send them again.
 */
const COUNTS_OF_USE = `
  CREATE TABLE skillsyncd.use_of_day (
    day text NOT NULL,
    key bytea NOT NULL,
    skill text NOT NULL,
    pack text NOT NULL,
    client text NOT NULL,
    principal text NOT NULL,
    lists bigint NOT NULL,
    loads bigint NOT NULL,
    reads bigint NOT NULL,
    failures bigint NOT NULL,
    PRIMARY KEY (day, key)
  );

  -- The days on which a process counted.
  CREATE TABLE skillsyncd.use_counted_day (day text PRIMARY KEY);

  -- The batches that were added. A process sends one again if the answer was lost.
  CREATE TABLE skillsyncd.use_batch (
    id uuid PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX use_batch_at ON skillsyncd.use_batch (at);

  CREATE TABLE skillsyncd.content_use (
    key bytea NOT NULL,
    folder uuid NOT NULL,
    skill text NOT NULL,
    content text NOT NULL,
    uses bigint NOT NULL,
    failures bigint NOT NULL,
    day text NOT NULL,
    PRIMARY KEY (key, folder)
  );
  CREATE INDEX content_use_day ON skillsyncd.content_use (day);
`

/**
 * The followers of the channels of a hub, by all of its processes. A principal can be longer than an index takes, so that
 * a digest of the whole key stands for it. Times are those of the server.
 */
const REACH_OF_RECALLS = `
  -- One row: counts up with each row that is written, in the same statement. So versions have the order of the commits.
  CREATE TABLE skillsyncd.reach_version (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint NOT NULL
  );
  INSERT INTO skillsyncd.reach_version (version) VALUES (0);

  CREATE TABLE skillsyncd.follower (
    key bytea PRIMARY KEY,
    channel text,
    principal text NOT NULL,
    follower text NOT NULL,
    size bigint NOT NULL,
    seen timestamptz NOT NULL,
    -- The counts of the followers below it, and the time of that report.
    below jsonb NOT NULL,
    reported timestamptz NOT NULL,
    version bigint NOT NULL
  );
  CREATE INDEX follower_version ON skillsyncd.follower (version);
  CREATE INDEX follower_seen ON skillsyncd.follower (seen);

  -- The sizes of the logs at which recalls were published first. The channel of everything has no name.
  CREATE TABLE skillsyncd.recall_published (
    recall text NOT NULL,
    channel text NOT NULL,
    size bigint NOT NULL,
    version bigint NOT NULL,
    PRIMARY KEY (recall, channel)
  );
  CREATE INDEX recall_published_version ON skillsyncd.recall_published (version);
`

/** A step from one version of the schema to the next. */
export interface Migration {
  readonly text: string
  /**
   * The least version that a program has to know to work on the schema after this step: an earlier one if the step only
   * adds what earlier programs need not know, so that processes of both versions run side by side. It never falls.
   */
  readonly compatible: number
}

/** Each brings the schema from the version of its index to the next. */
export const MIGRATIONS: readonly Migration[] = [
  { text: [OBJECTS_AND_HEAD, COUNTS_OF_USE, REACH_OF_RECALLS].join('\n'), compatible: 1 },
]
