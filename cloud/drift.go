package cloud

// DriftReason says why an instance no longer matches its claim. It becomes the reason and the message of the
// NodeClaim's Drifted condition; empty means not drifted. Providers add further reasons.
type DriftReason string

// The reasons that the core finds without asking the provider.
const (
	// NodePoolDrifted: the static part of the NodePool's template has changed.
	NodePoolDrifted DriftReason = "NodePoolDrifted"
	// RequirementsDrifted: the claim's labels no longer satisfy the NodePool's requirements.
	RequirementsDrifted DriftReason = "RequirementsDrifted"
	// InstanceTypeNotFound: the instance type or its offering is no longer in the catalogue.
	InstanceTypeNotFound DriftReason = "InstanceTypeNotFound"
)
