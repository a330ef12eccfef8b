package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// Spotlight shows those lines of the controller's log that belong to a Scene, and Counts them.
type Spotlight struct {
	mu       sync.Mutex
	progress *Progress
	messages []string
	seen     map[string]int
}

// NewSpotlight returns one that shows lines with these messages.
func NewSpotlight(progress *Progress, messages []string) *Spotlight {
	return &Spotlight{progress: progress, messages: messages, seen: map[string]int{}}
}

// Write takes whole lines.
func (s *Spotlight) Write(line []byte) (int, error) {
	var fields map[string]any
	// A line that is not JSON has no message.
	_ = json.Unmarshal(line, &fields)
	message, _ := fields["message"].(string)
	if slices.Contains(s.messages, message) {
		s.mu.Lock()
		s.seen[message]++
		s.mu.Unlock()
		s.progress.Line("  log: " + brief(message, fields))
	}
	return len(line), nil
}

// Count is how often the controller has logged this message.
func (s *Spotlight) Count(message string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[message]
}

// brief is a log line with those of its fields that say what happened to what.
func brief(message string, fields map[string]any) string {
	parts := []string{message}
	for _, key := range []string{"command", "reason", "Node", "NodeClaim", "instance-type", "expire-after", "condition", "nodeclaims", "pods", "error"} {
		if value := fields[key]; value != nil {
			parts = append(parts, key+"="+show(value))
		}
	}
	return strings.Join(parts, " ")
}
