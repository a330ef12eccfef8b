package ledger

import (
	"context"
	"encoding/json"
)

// Records is where records can be read: in memory, in a directory, or at a controller.
type Records interface {
	// Read returns the encoded records that the filter selects, oldest first, and which ones there are. The lines must not be changed.
	Read(ctx context.Context, f Filter) ([]json.RawMessage, Coverage, error)
}

// Memory are the records that a Ledger keeps in memory. It implements Records.
type Memory struct{ Ledger *Ledger }

// Read implements Records.
func (m Memory) Read(_ context.Context, f Filter) ([]json.RawMessage, Coverage, error) {
	return m.Ledger.Read(f)
}
