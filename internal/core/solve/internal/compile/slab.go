package compile

// slab allocates values of one type, many of them at once. A run compiles thousands of classes, each of a handful of small values that are
// used together and end with the run.
type slab[T any] struct {
	free []T
	// size is how many values the last allocation had.
	size int
}

// minSlab and maxSlab bound the number of values of an allocation: what-ifs compile a few classes, a run thousands.
const minSlab, maxSlab = 4, 256

// take is a list of n new values without spare capacity.
func (s *slab[T]) take(n int) []T {
	if len(s.free) < n {
		s.size = min(max(2*s.size, minSlab), maxSlab)
		s.free = make([]T, max(n, s.size))
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}

// next is a new value.
func (s *slab[T]) next() *T { return &s.take(1)[0] }

// slabs are those of the parts of classes.
type slabs struct {
	classes      slab[Class]
	levels       slab[Level]
	constraints  slab[LevelConstraints]
	levelLists   slab[*Level]
	tiers        slab[[]*Level]
	owned        slab[Owned]
	variants     slab[DomainVariant]
	variantLists slab[*DomainVariant]
	cursors      slab[TemplateCursor]
}
