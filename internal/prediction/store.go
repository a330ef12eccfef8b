package prediction

import "sync"

// Store holds the predictions of the last pass. It is safe for concurrent use; the zero value is empty and not complete.
type Store struct {
	mu          sync.Mutex
	predictions Predictions
	complete    bool
}

// Replace replaces the predictions with those of a pass. complete reports that every autoscaler could be read;
// once that was so, the store stays complete.
func (s *Store) Replace(p Predictions, complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.predictions = p
	s.complete = s.complete || complete
}

// Of returns the predicted containers of a workload's next pod, by name; nil if no autoscaler changes them. The map must not be
// changed.
func (s *Store) Of(t Target) map[string]Container {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.predictions[t]
}

// Empty reports whether there are no predictions.
func (s *Store) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.predictions) == 0
}

// Complete reports whether the store has ever held the predictions of all autoscalers.
func (s *Store) Complete() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.complete
}
