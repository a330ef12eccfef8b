// Package lp solves linear programs by the simplex method:
//
//   - Program is a linear program with bounded variables and sparse columns that may be added between solves. Package bound
//     generates columns with it.
//   - Covering is a Program whose rows are demands of resources and whose columns are bins: it returns the dual prices by which
//     the solver values the capacity of instance types.
//
// Both are deterministic: the same calls give the same floating-point results. Amounts and costs should be scaled to about 1.
//
// Source: Dantzig, Linear Programming and Extensions, 1963; Bland, New Finite Pivoting Rules for the Simplex Method, 1977.
package lp

// Negligible is what rounding may leave of zero: smaller amounts and gains count as none.
const Negligible = 1e-9

// Dot is the dot product of two vectors of the same length.
func Dot(a, b []float64) float64 {
	sum := 0.0
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}
