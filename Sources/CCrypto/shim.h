// The low-level SHA256_* functions cost a fifth of EVP's on short inputs.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/hmac.h>
