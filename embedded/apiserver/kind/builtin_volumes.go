package kind

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// The finalizers that the admission plugin StorageObjectInUseProtection adds. What removes them is a controller.
const (
	VolumeProtection = "kubernetes.io/pv-protection"
	ClaimProtection  = "kubernetes.io/pvc-protection"
)

func protect(finalizers []string, with string) []string {
	if slices.Contains(finalizers, with) {
		return finalizers
	}
	return append(finalizers, with)
}

func volumeHooks() hooks {
	return hooks{
		defaults: on(func(o *corev1.PersistentVolume) {
			set(&o.Status.Phase, corev1.VolumePending)
			set(&o.Spec.PersistentVolumeReclaimPolicy, corev1.PersistentVolumeReclaimRetain)
			set(&o.Spec.VolumeMode, ptr.To(corev1.PersistentVolumeFilesystem))
			if h := o.Spec.HostPath; h != nil {
				set(&h.Type, ptr.To(corev1.HostPathUnset))
			}
		}),
		create: on(func(o *corev1.PersistentVolume) {
			o.Status = corev1.PersistentVolumeStatus{Phase: corev1.VolumePending, LastPhaseTransitionTime: ptr.To(o.CreationTimestamp)}
			o.Finalizers = protect(o.Finalizers, VolumeProtection)
		}),
		validate: on2(func(o, old *corev1.PersistentVolume, _ bool) field.ErrorList {
			var errs field.ErrorList
			path := field.NewPath("spec")
			if len(o.Spec.AccessModes) == 0 {
				errs = append(errs, field.Required(path.Child("accessModes"), ""))
			}
			if len(o.Spec.Capacity) == 0 {
				errs = append(errs, field.Required(path.Child("capacity"), ""))
			}
			if o.Spec.CSI != nil {
				errs = append(errs, validateDriver(o.Spec.CSI.Driver, path.Child("csi", "driver"))...)
			}
			if old != nil {
				errs = append(errs, validation.ValidateImmutableField(o.Spec.VolumeMode, old.Spec.VolumeMode, path.Child("volumeMode"))...)
			}
			return errs
		}),
		columns: []column{
			nameColumn(), capacityColumn("spec.capacity"), modesColumn("spec.accessModes"), text("Reclaim Policy", "spec.persistentVolumeReclaimPolicy"),
			text("Status", "status.phase"),
			{name: "Claim", kind: "string", value: func(r row) any {
				if name := r.text("spec.claimRef.name"); name != "" {
					return r.text("spec.claimRef.namespace") + "/" + name
				}
				return ""
			}},
			text("StorageClass", "spec.storageClassName"), unsetColumn("VolumeAttributesClass", "spec.volumeAttributesClassName"), text("Reason", "status.reason"),
			ageColumn(), wide(text("VolumeMode", "spec.volumeMode")),
		},
	}
}

func claimHooks() hooks {
	return hooks{
		defaults: on(func(o *corev1.PersistentVolumeClaim) {
			set(&o.Status.Phase, corev1.ClaimPending)
			set(&o.Spec.VolumeMode, ptr.To(corev1.PersistentVolumeFilesystem))
		}),
		create: on(func(o *corev1.PersistentVolumeClaim) {
			o.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
			o.Finalizers = protect(o.Finalizers, ClaimProtection)
		}),
		validate: on2(func(o, old *corev1.PersistentVolumeClaim, status bool) field.ErrorList {
			var errs field.ErrorList
			path := field.NewPath("spec")
			if status {
				return nil
			}
			if len(o.Spec.AccessModes) == 0 {
				errs = append(errs, field.Required(path.Child("accessModes"), "at least 1 access mode is required"))
			}
			if _, ok := o.Spec.Resources.Requests[corev1.ResourceStorage]; !ok {
				errs = append(errs, field.Required(path.Child("resources").Key(string(corev1.ResourceStorage)), ""))
			}
			return append(errs, unchangedClaim(o, old, path)...)
		}),
		columns: []column{
			nameColumn(), text("Status", "status.phase"), text("Volume", "spec.volumeName"), boundCapacityColumn(), boundModesColumn(),
			text("StorageClass", "spec.storageClassName"), unsetColumn("VolumeAttributesClass", "spec.volumeAttributesClassName"), ageColumn(),
			wide(text("VolumeMode", "spec.volumeMode")),
		},
	}
}

// unchangedClaim checks that an update changes only what may change: the size, and the volume of a claim that has none.
func unchangedClaim(o, old *corev1.PersistentVolumeClaim, path *field.Path) field.ErrorList {
	if old == nil {
		return nil
	}
	spec := o.Spec.DeepCopy()
	if old.Spec.VolumeName == "" {
		spec.VolumeName = ""
	}
	spec.Resources.Requests, spec.VolumeAttributesClassName = old.Spec.Resources.Requests, old.Spec.VolumeAttributesClassName
	if equality.Semantic.DeepEqual(*spec, old.Spec) {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims")}
}

func csiNodeHooks() hooks {
	return hooks{
		create: on(func(o *storagev1.CSINode) {
			if len(o.Spec.Drivers) == 0 {
				o.Spec.Drivers = nil // as it comes back from the encoding of storage
			}
		}),
		validate: on2(func(o, _ *storagev1.CSINode, _ bool) field.ErrorList {
			var errs field.ErrorList
			for i, d := range o.Spec.Drivers {
				path := field.NewPath("spec", "drivers").Index(i)
				errs = append(errs, validateDriver(d.Name, path.Child("name"))...)
				if d.NodeID == "" {
					errs = append(errs, field.Required(path.Child("nodeID"), ""))
				}
			}
			return errs
		}),
		columns: []column{nameColumn(), {name: "Drivers", kind: "integer", value: func(r row) any { return int64(len(r.list("spec.drivers"))) }}, ageColumn()},
	}
}

func attachmentHooks() hooks {
	return hooks{
		create: on(func(o *storagev1.VolumeAttachment) { o.Status = storagev1.VolumeAttachmentStatus{} }),
		validate: on2(func(o, old *storagev1.VolumeAttachment, _ bool) field.ErrorList {
			var errs field.ErrorList
			path := field.NewPath("spec")
			for name, value := range map[string]string{"attacher": o.Spec.Attacher, "nodeName": o.Spec.NodeName} {
				if value == "" {
					errs = append(errs, field.Required(path.Child(name), ""))
				}
			}
			if old != nil && !equality.Semantic.DeepEqual(o.Spec, old.Spec) {
				errs = append(errs, field.Invalid(path, o.Spec, "field is immutable"))
			}
			return errs
		}),
		columns: []column{
			nameColumn(), text("Attacher", "spec.attacher"), text("PV", "spec.source.persistentVolumeName"), text("Node", "spec.nodeName"),
			{name: "Attached", kind: "boolean", value: func(r row) any { return r.get("status.attached") == true }},
			ageColumn(),
		},
	}
}

// validateDriver checks the name of a CSI driver.
func validateDriver(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	for _, problem := range utilvalidation.IsDNS1123Subdomain(strings.ToLower(name)) {
		errs = append(errs, field.Invalid(path, name, problem))
	}
	return errs
}
