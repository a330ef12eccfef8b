package bound

import (
	"cmp"
	"slices"
)

// box is a set of points.
type box struct {
	points []int
	// axis is the axis with the largest loss: the weighted distance of the points from the smallest coordinate, relative to
	// the total of the axis.
	axis int
	loss float64
}

// cluster partitions points into at most limit boxes of points that are close to each other, and returns the boxes. Points of
// different groups never share a box, so there is at least one box per group, even beyond limit.
//
// Approach: median cut. The box with the largest loss is split in two until there are enough. Cost: limit × points.
func cluster(points [][]int64, weights, groups []int, limit int) [][]int {
	scale := totals(points, weights)
	byGroup := map[int]int{}
	var boxes []box
	for i, g := range groups {
		n, ok := byGroup[g]
		if !ok {
			n = len(boxes)
			byGroup[g] = n
			boxes = append(boxes, box{})
		}
		boxes[n].points = append(boxes[n].points, i)
	}
	for n := range boxes {
		boxes[n].measure(points, weights, scale)
	}
	for len(boxes) < limit {
		worst := 0
		for n := range boxes {
			if boxes[n].loss > boxes[worst].loss {
				worst = n
			}
		}
		if boxes[worst].loss == 0 {
			break
		}
		rest := boxes[worst].split(points, weights)
		boxes[worst].measure(points, weights, scale)
		rest.measure(points, weights, scale)
		boxes = append(boxes, rest)
	}
	out := make([][]int, len(boxes))
	for n, b := range boxes {
		slices.Sort(b.points)
		out[n] = b.points
	}
	return out
}

// totals returns the weighted sums of all points, by axis.
func totals(points [][]int64, weights []int) []float64 {
	out := make([]float64, len(points[0]))
	for i, p := range points {
		for axis, a := range p {
			out[axis] += float64(a) * float64(weights[i])
		}
	}
	return out
}

// measure sets axis and loss.
func (b *box) measure(points [][]int64, weights []int, scale []float64) {
	b.loss = 0
	for axis, s := range scale {
		if s == 0 {
			continue
		}
		low := points[b.points[0]][axis]
		for _, i := range b.points {
			low = min(low, points[i][axis])
		}
		loss := 0.0
		for _, i := range b.points {
			loss += float64(weights[i]) * (float64(points[i][axis]) - float64(low)) / s
		}
		if loss > b.loss {
			b.axis, b.loss = axis, loss
		}
	}
}

// split keeps about half of the points by weight, those with the smallest coordinates on the axis, and returns the others.
// Equal points stay together.
func (b *box) split(points [][]int64, weights []int) box {
	at := func(i int) int64 { return points[i][b.axis] }
	slices.SortFunc(b.points, func(i, j int) int { return cmp.Or(cmp.Compare(at(i), at(j)), cmp.Compare(i, j)) })
	total := 0
	for _, i := range b.points {
		total += weights[i]
	}
	half, off, sum := 0, 0, 0
	for k, i := range b.points {
		if d := max(2*sum-total, total-2*sum); k > 0 && at(i) != at(b.points[k-1]) && (half == 0 || d < off) {
			half, off = k, d
		}
		sum += weights[i]
	}
	rest := box{points: slices.Clone(b.points[half:])}
	b.points = b.points[:half]
	return rest
}
