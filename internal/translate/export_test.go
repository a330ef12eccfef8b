package translate

// Remembered is how many questions are remembered.
func (t *Translator) Remembered() int {
	t.specs.mu.Lock()
	defer t.specs.mu.Unlock()
	return len(t.specs.known.entries)
}
