//go:build libsecp256k1 && linux && cgo

package nostr

/*
#cgo noescape wok_verify
#cgo nocallback wok_verify
#cgo noescape wok_linked
#cgo nocallback wok_linked

#include <stddef.h>

// libsecp256k1 is compiled into go-nostr's own cgo objects; declared weak, its
// functions are bound to those when the binary is linked, while this package's
// objects also link alone, which cgo tries when it builds the package. The
// types are opaque here; a parsed key is 64 bytes in all versions.
typedef struct wok_context wok_context;
typedef struct { unsigned char data[64]; } wok_xonly_pubkey;

__attribute__((weak)) extern const wok_context *secp256k1_context_static;
__attribute__((weak)) extern int secp256k1_xonly_pubkey_parse(
	const wok_context *ctx, wok_xonly_pubkey *pubkey, const unsigned char *input32);
__attribute__((weak)) extern int secp256k1_schnorrsig_verify(
	const wok_context *ctx, const unsigned char *sig64, const unsigned char *msg,
	size_t msglen, const wok_xonly_pubkey *pubkey);

static int wok_linked(void) {
	return &secp256k1_context_static != NULL && secp256k1_xonly_pubkey_parse != NULL &&
		secp256k1_schnorrsig_verify != NULL;
}

static int wok_verify(const unsigned char *pubkey32, const unsigned char *msg32, const unsigned char *sig64) {
	wok_xonly_pubkey key;
	return secp256k1_xonly_pubkey_parse(secp256k1_context_static, &key, pubkey32) &&
		secp256k1_schnorrsig_verify(secp256k1_context_static, sig64, msg32, 32, &key);
}
*/
import "C"

import _ "github.com/nbd-wtf/go-nostr" // brings the objects of libsecp256k1

// linked is set when the program starts and says whether the linker found the
// library. Were it not so, signatures would be checked by pure Go, and
// SignatureBackend would say it.
var linked = C.wok_linked() != 0

func linkedC() bool { return linked }

func verifyC(pubkey, msg *[32]byte, sig *[64]byte) bool {
	return C.wok_verify((*C.uchar)(&pubkey[0]), (*C.uchar)(&msg[0]), (*C.uchar)(&sig[0])) != 0
}
