#include <curl/curl.h>

// curl_easy_setopt(3) and curl_easy_getinfo(3) are variadic, which Swift cannot call.

static inline CURLcode llvs_curl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode llvs_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode llvs_curl_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode llvs_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode llvs_curl_set_list(CURL *handle, CURLoption option,
                                          struct curl_slist *value) {
  return curl_easy_setopt(handle, option, value);
}

typedef size_t (*llvs_curl_transfer)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode llvs_curl_set_transfer(CURL *handle, CURLoption option,
                                              llvs_curl_transfer value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode llvs_curl_set_seek(CURL *handle, curl_seek_callback value) {
  return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, value);
}

static inline CURLcode llvs_curl_get_number(CURL *handle, CURLINFO info, long *value) {
  return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode llvs_curl_get_size(CURL *handle, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(handle, info, value);
}
