package translate

// Remembered returns the number of cached specs.
func (t *Translator) Remembered() int {
	t.specs.mu.Lock()
	defer t.specs.mu.Unlock()
	return len(t.specs.known.entries)
}
