// The statements about sessions. A list of rows is a parameter in JSON.

/** A process whose last refresh is older counts as dead: it is not asked for its sessions. */
const ALIVE = "interval '15 seconds'"

export const OPEN_SESSIONS = `
  INSERT INTO skillsyncd.session (key, replica, principal, address, view, revision, used)
  SELECT key, $2, principal, address, view, revision, clock_timestamp() - coalesce(idle, 0) * interval '1 millisecond'
  FROM jsonb_to_recordset($1::jsonb) AS given (
    key text, principal text, address text, view text, revision text, idle float8
  )
  ON CONFLICT (key) DO NOTHING`

/** Only the owner of a session changes its mark. */
export const CHANGE_SESSIONS = `
  UPDATE skillsyncd.session SET
    used = greatest(session.used, clock_timestamp() - given.idle * interval '1 millisecond'),
    notified_mark = CASE
      WHEN given.has_mark AND session.replica = $2 THEN given.mark
      ELSE session.notified_mark
    END
  FROM jsonb_to_recordset($1::jsonb) AS given (key text, idle float8, has_mark boolean, mark text)
  WHERE session.key = given.key`

export const END_SESSIONS = 'DELETE FROM skillsyncd.session WHERE key = ANY($1)'

export const ADD_SUBSCRIPTIONS = `
  INSERT INTO skillsyncd.session_subscription (key, digest, requested, canonical)
  SELECT key, decode(digest, 'hex'), requested, canonical
  FROM jsonb_to_recordset($1::jsonb) AS given (key text, digest text, requested text, canonical text)
  ON CONFLICT DO NOTHING`

export const REMOVE_SUBSCRIPTIONS = `
  DELETE FROM skillsyncd.session_subscription
  USING jsonb_to_recordset($1::jsonb) AS given (key text, digest text)
  WHERE session_subscription.key = given.key AND session_subscription.digest = decode(given.digest, 'hex')`

/** A known process keeps its `seen`: only a call that also reads its news may renew that. */
export const MARK_REPLICA = `
  INSERT INTO skillsyncd.session_replica (replica, notified_mark, seen) VALUES ($1, $2, clock_timestamp())
  ON CONFLICT (replica) DO UPDATE SET notified_mark = excluded.notified_mark`

export const PUT_MARK = `
  INSERT INTO skillsyncd.session_mark AS stored (id, mark, used) VALUES ($1, $2, clock_timestamp())
  ON CONFLICT (id) DO UPDATE SET
    used = excluded.used, mark = CASE WHEN $3::boolean THEN excluded.mark ELSE stored.mark END`

/** For an owner that is gone nothing is announced: the next owner reads the rows. */
export const ANNOUNCE_NEWS = `
  INSERT INTO skillsyncd.session_news (replica, key, requested, canonical, generation)
  SELECT session.replica, given.key, given.requested, given.canonical, given.generation
  FROM jsonb_to_recordset($1::jsonb) AS given (key text, requested text, canonical text, generation bigint)
  JOIN skillsyncd.session USING (key) JOIN skillsyncd.session_replica USING (replica)
  WHERE session_replica.seen > clock_timestamp() - ${ALIVE}`

export const ANNOUNCE_ROWS = 'INSERT INTO skillsyncd.session_news (replica, key) SELECT $1, unnest($2::text[])'

const SESSION = `
  session.key, session.principal, session.address, session.view, session.revision,
  extract(epoch FROM clock_timestamp() - session.used) * 1000 AS idle`

export const FIND_SESSIONS = `
  SELECT ${SESSION},
    (SELECT count(*) FROM skillsyncd.session_subscription WHERE session_subscription.key = session.key) AS subscribed
  FROM skillsyncd.session WHERE session.key = ANY($1)`

export const OWNER_OF_SESSION = `
  SELECT session.replica, session_replica.seen > clock_timestamp() - ${ALIVE} AS is_alive
  FROM skillsyncd.session LEFT JOIN skillsyncd.session_replica USING (replica)
  WHERE session.key = $1 FOR UPDATE OF session`

/** The mark of a session that leaves its replica. `unknown` is the id of no mark. */
const LEAVING = `
  coalesce(
    session.notified_mark,
    (SELECT notified_mark FROM skillsyncd.session_replica WHERE session_replica.replica = session.replica),
    'unknown'
  )`

export const TAKE_SESSION = `
  UPDATE skillsyncd.session SET
    notified_mark = CASE WHEN session.replica = $2 THEN session.notified_mark ELSE ${LEAVING} END,
    replica = $2, wanted = NULL, used = clock_timestamp()
  WHERE session.key = $1
  RETURNING ${SESSION},
    (SELECT mark FROM skillsyncd.session_mark WHERE session_mark.id = session.notified_mark) AS mark`

export const YIELD_SESSIONS = `
  WITH left_behind AS (
    UPDATE skillsyncd.session SET notified_mark = ${LEAVING}, replica = wanted, wanted = NULL
    WHERE session.key IN (
      SELECT key FROM skillsyncd.session WHERE key = ANY($1) AND replica = $2 AND wanted IS NOT NULL
      ORDER BY key FOR UPDATE
    )
    RETURNING session.replica, session.key
  )
  INSERT INTO skillsyncd.session_news (replica, key) SELECT replica, key FROM left_behind`

export const READ_SUBSCRIPTIONS =
  'SELECT key, requested, canonical FROM skillsyncd.session_subscription WHERE key = ANY($1)'

/** Each second: it writes, and begins a transaction in the log of the database, every three seconds alone. */
export const SEE_REPLICA = `
  WITH before AS (SELECT seen FROM skillsyncd.session_replica WHERE replica = $1)
  INSERT INTO skillsyncd.session_replica (replica, seen) SELECT $1, clock_timestamp()
  WHERE NOT EXISTS (SELECT FROM before WHERE seen > clock_timestamp() - interval '3 seconds')
  ON CONFLICT (replica) DO UPDATE SET seen = excluded.seen
  RETURNING (SELECT seen FROM before) < clock_timestamp() - ${ALIVE} AS is_late`

export const TAKE_NEWS =
  'DELETE FROM skillsyncd.session_news WHERE replica = $1 RETURNING id, key, requested, canonical, generation'

export const REMOVE_IDLE_SESSIONS = `
  DELETE FROM skillsyncd.session WHERE key IN (
    SELECT key FROM skillsyncd.session WHERE used < clock_timestamp() - $1 * interval '1 millisecond'
    ORDER BY used LIMIT $2 FOR UPDATE SKIP LOCKED
  ) RETURNING key`

/**
 * A session that another process takes meanwhile stays: `replica` is compared with the locked row. No lock is waited for,
 * because these come in another order than those of a write.
 */
export const REMOVE_LEFT_SESSIONS = `
  DELETE FROM skillsyncd.session WHERE key IN (
    SELECT session.key FROM skillsyncd.session JOIN (
      SELECT session.key, session.replica
      FROM skillsyncd.session LEFT JOIN skillsyncd.session_replica USING (replica)
      WHERE coalesce(session_replica.seen, '-infinity') < clock_timestamp() - ${ALIVE}
      ORDER BY session.used DESC OFFSET $1 LIMIT $2
    ) AS abandoned USING (key, replica)
    FOR UPDATE OF session SKIP LOCKED
  ) RETURNING key`

export const REMOVE_UNUSED_ROWS = [
  "DELETE FROM skillsyncd.session_news WHERE at < clock_timestamp() - interval '1 hour'",
  `DELETE FROM skillsyncd.session_replica WHERE seen < clock_timestamp() - interval '1 hour'
   AND NOT EXISTS (SELECT FROM skillsyncd.session WHERE session.replica = session_replica.replica)`,
  `DELETE FROM skillsyncd.session_mark WHERE used < clock_timestamp() - interval '1 hour'
   AND NOT EXISTS (SELECT FROM skillsyncd.session WHERE session.notified_mark = session_mark.id)
   AND NOT EXISTS (SELECT FROM skillsyncd.session_replica WHERE session_replica.notified_mark = session_mark.id)`,
]
