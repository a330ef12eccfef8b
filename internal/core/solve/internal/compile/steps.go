package compile

// stepCache caches which state follows from a state and a conjunction. Two pairs with the same slot displace each other, so that the
// cache never takes more than maxSteps slots: a state that is not found is derived again, and gets the same number.
type stepCache struct {
	slots []step
	puts  int
}

// step is one cached answer. from is stored plus one: zero is an empty slot.
type step struct {
	from, to StateID
	number   int32
}

const (
	// minSteps and maxSteps bound the number of slots, powers of two; a slot takes twelve bytes.
	minSteps, maxSteps = 1 << 6, 1 << 17
	// spread multiplies keys so that the high bits of the product depend on all bits of the key.
	spreadFactor = 0x9E3779B97F4A7C15
)

func (c *stepCache) slot(from StateID, number int32) *step {
	hash := (uint64(uint32(from))<<32 | uint64(uint32(number))) * spreadFactor //nolint:gosec // bits, not amounts
	return &c.slots[hash>>32&uint64(len(c.slots)-1)]
}

func (c *stepCache) get(from StateID, number int) (StateID, bool) {
	if len(c.slots) == 0 {
		return 0, false
	}
	s := c.slot(from, int32(number))                           //nolint:gosec // numbers count from zero
	return s.to, s.from == from+1 && s.number == int32(number) //nolint:gosec // see above
}

func (c *stepCache) put(from StateID, number int, to StateID) {
	if c.puts++; len(c.slots) == 0 || c.puts > len(c.slots)/2 && len(c.slots) < maxSteps {
		before := c.slots
		c.slots = make([]step, max(2*len(before), minSteps))
		for _, s := range before {
			if s.from > 0 {
				*c.slot(s.from-1, s.number) = s
			}
		}
	}
	*c.slot(from, int32(number)) = step{from: from + 1, number: int32(number), to: to} //nolint:gosec // see above
}

func (c *stepCache) clear() { *c = stepCache{} }
