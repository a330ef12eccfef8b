package translate

// Remembered returns the number of cached specs.
func (t *Translator) Remembered() int {
	t.specs.cache.mu.Lock()
	defer t.specs.cache.mu.Unlock()
	return len(t.specs.cache.known.entries)
}
