// Package lp solves linear programs by the simplex method. It holds two forms of it:
//
//   - Program is the general one: bounded variables, sparse columns that may be added between solves, an explicit inverse.
//     Package bound generates columns with it.
//   - Covering is for programs with a handful of rows, all of them "at least": it returns the dual prices of resources, by
//     which the solver values the capacity of instance types.
//
// Both are deterministic: the same calls give the same floating-point results. Amounts and costs should be scaled to about 1.
//
// Source: Dantzig, Linear Programming and Extensions, 1963; Bland, New Finite Pivoting Rules for the Simplex Method, 1977.
package lp

// Negligible is what rounding may leave of zero: smaller amounts and gains count as none.
const Negligible = 1e-9

// none is the index of nothing.
const none = -1

// Dot is the dot product of two vectors of the same length.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
