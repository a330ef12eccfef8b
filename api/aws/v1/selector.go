package v1

// SubnetSelectorTerm matches subnets; all conditions have to hold.
type SubnetSelectorTerm struct {
	// tags have to be there with these values; the value * stands for any.
	// +kubebuilder:validation:XValidation:message="empty tag keys or values aren't supported",rule="self.all(k, k != '' && self[k] != '')"
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// id is the id of one subnet.
	// +kubebuilder:validation:Pattern:=`subnet-[0-9a-z]+`
	// +optional
	ID string `json:"id,omitempty"`
}

// SecurityGroupSelectorTerm matches security groups; all conditions have to hold.
type SecurityGroupSelectorTerm struct {
	// tags have to be there with these values; the value * stands for any.
	// +kubebuilder:validation:XValidation:message="empty tag keys or values aren't supported",rule="self.all(k, k != '' && self[k] != '')"
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// id is the id of one group.
	// +kubebuilder:validation:Pattern:=`sg-[0-9a-z]+`
	// +optional
	ID string `json:"id,omitempty"`
	// name is the name of the group, which is not its Name tag. Wildcards are those of EC2.
	// +optional
	Name string `json:"name,omitempty"`
}

// CapacityReservationSelectorTerm matches capacity reservations; all conditions have to hold.
type CapacityReservationSelectorTerm struct {
	// tags have to be there with these values; the value * stands for any.
	// +kubebuilder:validation:XValidation:message="empty tag keys or values aren't supported",rule="self.all(k, k != '' && self[k] != '')"
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// id is the id of one reservation.
	// +kubebuilder:validation:Pattern:=`^cr-[0-9a-z]+$`
	// +optional
	ID string `json:"id,omitempty"`
	// ownerID is the account that owns the reservation.
	// +kubebuilder:validation:Pattern:=`^[0-9]{12}$`
	// +optional
	OwnerID string `json:"ownerID,omitempty"`
	// instanceMatchCriteria is how instances get into the reservation.
	// +kubebuilder:validation:Enum:={open,targeted}
	// +optional
	InstanceMatchCriteria string `json:"instanceMatchCriteria,omitempty"`
}

// PlacementGroupSelector names one placement group, by name or by id.
//
// +kubebuilder:validation:XValidation:message="expected at least one, got none, ['name', 'id']",rule="has(self.name) || has(self.id)"
// +kubebuilder:validation:XValidation:message="'name' and 'id' are mutually exclusive",rule="!(has(self.name) && has(self.id))"
type PlacementGroupSelector struct {
	// name is the name of the group.
	// +kubebuilder:validation:MinLength:=1
	// +optional
	Name *string `json:"name,omitempty"`
	// id is the id of the group.
	// +kubebuilder:validation:Pattern:=`^pg-[0-9a-z]+$`
	// +optional
	ID *string `json:"id,omitempty"`
}

// AMISelectorTerm matches images; all conditions have to hold.
type AMISelectorTerm struct {
	// alias stands for the images that AWS publishes for a family: family@version. The version latest follows new
	// releases; Windows families know no other.
	// +kubebuilder:validation:XValidation:message="'alias' is improperly formatted, must match the format 'family@version'",rule="self.matches('^[a-zA-Z0-9]+@.+$')"
	// +kubebuilder:validation:XValidation:message="family is not supported, must be one of the following: 'al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025'",rule="self.split('@')[0] in ['al2', 'al2023', 'bottlerocket', 'windows2019', 'windows2022', 'windows2025']"
	// +kubebuilder:validation:XValidation:message="windows families may only specify version 'latest'",rule="!self.startsWith('windows') || self.matches('^[^@]*@latest$')"
	// +kubebuilder:validation:MaxLength:=30
	// +optional
	Alias string `json:"alias,omitempty"`
	// tags have to be there with these values; the value * stands for any.
	// +kubebuilder:validation:XValidation:message="empty tag keys or values aren't supported",rule="self.all(k, k != '' && self[k] != '')"
	// +kubebuilder:validation:MaxProperties:=20
	// +optional
	Tags map[string]string `json:"tags,omitempty"`
	// id is the id of one image.
	// +kubebuilder:validation:Pattern:=`ami-[0-9a-z]+`
	// +optional
	ID string `json:"id,omitempty"`
	// name is the name of the image. Wildcards are those of EC2.
	// +optional
	Name string `json:"name,omitempty"`
	// owner is the account that owns the image: a number, an alias of it, self, amazon or aws-marketplace.
	// +optional
	Owner string `json:"owner,omitempty"`
	// ssmParameter is the name or the ARN of a parameter whose value is the id of an image.
	// +optional
	SSMParameter string `json:"ssmParameter,omitempty"`
}
