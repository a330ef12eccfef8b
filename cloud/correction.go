package cloud

// Correction answers with instance types as users have corrected them for a pool: other prices, more resources. What was
// handed in stays as it is; the answer shares what was not corrected, and may be kept like a provider's own list. Before
// the corrections for the pool are settled, the answer is UnevaluatedNodePoolError.
//
// Whoever asks Cloud.Provider for instance types gets corrected ones already. A provider that itself chooses among types
// when it launches asks here, for the pool that the claim's label names; a claim without a pool has no corrections.
//
// Source: scheduling specification, NodeOverlay.
type Correction func(nodePool string, types []*InstanceType) ([]*InstanceType, error)
