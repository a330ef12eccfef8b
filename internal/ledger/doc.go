// Package ledger keeps what the controller decided, and why: passes of provisioning and disruption, disruption commands, the life of
// every NodeClaim, and claims of savings.
//
// Problem: logs and events say what happened to one object, for a short time, as text. Questions about the past ("why was this node
// removed last night, and what did that save?") need the decisions themselves, in the order in which they were made.
//
// Approach: controllers append typed records. A Ledger numbers them, encodes each as one JSON object, and keeps the newest ones in
// memory within a limit in bytes; package segment keeps them on disk. The records are enough to rebuild the fleet at any moment that
// they cover: History does so.
//
// Invariant: a record is never changed after Append. Nothing is left out in silence: a record that is too large says how many entries
// of which list were cut, and the next record on disk says how many before it are missing there.
//
// Cost: encoding, a few microseconds for a NodeClaim; a pass over n nodes costs time only for what changed since the last one.
//
// This package does no I/O and reads no clock.
package ledger
