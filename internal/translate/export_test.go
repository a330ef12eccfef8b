package translate

// Remembered is how many questions are remembered.
func (t *Translator) Remembered() int {
	t.questions.mu.Lock()
	defer t.questions.mu.Unlock()
	return len(t.questions.known.entries)
}
