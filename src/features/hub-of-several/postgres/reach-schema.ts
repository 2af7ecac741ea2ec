/**
 * The followers of the channels of a hub, by all of its processes. A principal can be longer than an index takes, so that
 * a digest of the whole key stands for it. Times are those of the server.
 */
export const REACH_OF_RECALLS = `
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
