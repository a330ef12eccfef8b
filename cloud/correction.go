package cloud

// Correction returns the instance types with the NodeOverlays of a pool applied: other prices, more resources. It does not modify its
// argument; the result shares what was not corrected, and may be cached like a provider's list. Until
// the overlays for the pool are evaluated, it returns UnevaluatedNodePoolError.
//
// Instance types from Cloud.Provider are already corrected. A provider that itself chooses among types
// at launch calls it for the pool in the claim's label; a claim without a pool has no corrections.
//
// Source: scheduling specification, NodeOverlay.
type Correction func(nodePool string, types []*InstanceType) ([]*InstanceType, error)
