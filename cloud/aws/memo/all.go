package memo

// All is everything that is remembered, by key.
func (m *Memo[V]) All() map[string]V {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[string]V{}
	for key := range m.entries {
		if value, ok := m.get(key); ok {
			out[key] = value
		}
	}
	return out
}
