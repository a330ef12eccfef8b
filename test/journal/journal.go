// Package journal is a log for tests, which may read it while it is written.
package journal

import (
	"strings"
	"sync"
)

// Journal holds what is written to it. The zero value is empty.
type Journal struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer; it never fails.
func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// String is everything so far.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
