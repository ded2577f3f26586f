! Packwright's engine for Fortran: the functions of packwright.h under the same names, in Fortran 2008 with the
! arguments of any type and rank of TS 29113 (Fortran 2018).
!
!     use packwright
!     type(packwright_type) :: cell, rows
!     integer :: status
!
!     status = packwright_bytes(8, 8, cell)
!     status = packwright_vector(100, 2, 64, cell, rows)   ! 100 blocks of 2 doubles, 64 doubles apart
!     status = packwright_pack(rows, field, 1, buffer)     ! 1600 bytes
!     call packwright_type_free(rows)
!     call packwright_type_free(cell)
!
! packwright.h says what each function does. The differences are:
!
! * The integers of a call are either all of kind c_int32_t (the default integers of most compilers) or all of kind
!   c_int64_t.
! * Lists are arrays of rank 1 and bring their lengths. Starts of packwright_subarray count from 0, as MPI's do.
! * Texts are character strings. packwright_configure has one optional argument for each field of the struct of C.
! * Buffers are variables of any type and rank. Their address is that of the first element; packed bytes need a
!   contiguous variable. A variable of type(c_ptr) is itself the buffer, except in packwright_pack_stream,
!   packwright_unpack_stream and packwright_copy_stream: these take addresses.
! * packwright_address gives the address of a variable, whose differences are displacements for packwright_struct.
! * type(packwright_type) holds a reference. An assignment copies it without making another one: use packwright_dup.
!   packwright_type_free leaves a null reference, which may be freed again.
module packwright
  use, intrinsic :: iso_c_binding, only: c_bool, c_char, c_int, c_int32_t, c_int64_t, c_null_char, c_null_ptr, &
    c_ptr, c_size_t, c_f_pointer, c_loc, c_sizeof
  implicit none
  private

  ! ---- constants and types ---------------------------------------------------------------------------

  enum, bind(c) ! packwright_status
    enumerator :: PACKWRIGHT_OK = 0
    enumerator :: PACKWRIGHT_ERR_NOMEM = 1
    enumerator :: PACKWRIGHT_ERR_INVALID = 2
    enumerator :: PACKWRIGHT_ERR_OVERFLOW = 3
    enumerator :: PACKWRIGHT_ERR_UNSUPPORTED = 4
    enumerator :: PACKWRIGHT_ERR_TRUNCATED = 5
    enumerator :: PACKWRIGHT_ERR_DEVICE = 6
  end enum
  public :: PACKWRIGHT_OK, PACKWRIGHT_ERR_NOMEM, PACKWRIGHT_ERR_INVALID, PACKWRIGHT_ERR_OVERFLOW
  public :: PACKWRIGHT_ERR_UNSUPPORTED, PACKWRIGHT_ERR_TRUNCATED, PACKWRIGHT_ERR_DEVICE

  enum, bind(c) ! packwright_jit
    enumerator :: PACKWRIGHT_JIT_DEFAULT = 0
    enumerator :: PACKWRIGHT_JIT_SYNC = 1
    enumerator :: PACKWRIGHT_JIT_ASYNC = 2
    enumerator :: PACKWRIGHT_JIT_OFF = 3
  end enum
  public :: PACKWRIGHT_JIT_DEFAULT, PACKWRIGHT_JIT_SYNC, PACKWRIGHT_JIT_ASYNC, PACKWRIGHT_JIT_OFF

  enum, bind(c) ! packwright_order
    enumerator :: PACKWRIGHT_ORDER_C = 0
    enumerator :: PACKWRIGHT_ORDER_FORTRAN = 1
  end enum
  public :: PACKWRIGHT_ORDER_C, PACKWRIGHT_ORDER_FORTRAN

  enum, bind(c) ! packwright_distribution
    enumerator :: PACKWRIGHT_DISTRIBUTE_NONE = 0
    enumerator :: PACKWRIGHT_DISTRIBUTE_BLOCK = 1
    enumerator :: PACKWRIGHT_DISTRIBUTE_CYCLIC = 2
  end enum
  integer(c_int), parameter :: PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG = -1
  public :: PACKWRIGHT_DISTRIBUTE_NONE, PACKWRIGHT_DISTRIBUTE_BLOCK, PACKWRIGHT_DISTRIBUTE_CYCLIC
  public :: PACKWRIGHT_DISTRIBUTE_DEFAULT_ARG

  enum, bind(c) ! packwright_text
    enumerator :: PACKWRIGHT_TEXT_DDT = 0
    enumerator :: PACKWRIGHT_TEXT_IR = 1
  end enum
  public :: PACKWRIGHT_TEXT_DDT, PACKWRIGHT_TEXT_IR

  type, bind(c), public :: packwright_type
    private
    type(c_ptr) :: address = c_null_ptr
  end type packwright_type

  type, bind(c), public :: packwright_statistics
    integer(c_size_t) :: size = 0 ! set by packwright_type_statistics
    integer(c_int64_t) :: packs = 0, unpacks = 0, bytes = 0
    integer(c_int64_t) :: kernel_calls = 0
  end type packwright_statistics

  type, bind(c), public :: packwright_iov
    type(c_ptr) :: base = c_null_ptr
    integer(c_size_t) :: length = 0
  end type packwright_iov

  type, bind(c) :: packwright_options
    integer(c_size_t) :: size
    integer(c_int) :: jit
    type(c_ptr) :: cache_dir
    integer(c_int64_t) :: hot_bytes
    logical(c_bool) :: statistics
    logical(c_bool) :: quiet
  end type packwright_options

  ! ---- functions that are called as they are in C ----------------------------------------------------

  interface
    function packwright_dup(type) bind(c, name='packwright_dup') result(same)
      import :: packwright_type
      type(packwright_type), value :: type
      type(packwright_type) :: same
    end function

    function packwright_size(type) bind(c, name='packwright_size') result(bytes)
      import :: c_int64_t, packwright_type
      type(packwright_type), value :: type
      integer(c_int64_t) :: bytes
    end function

    subroutine packwright_extent(type, lb, extent) bind(c, name='packwright_extent')
      import :: c_int64_t, packwright_type
      type(packwright_type), value :: type
      integer(c_int64_t), intent(out) :: lb, extent
    end subroutine

    subroutine packwright_true_extent(type, true_lb, true_extent) bind(c, name='packwright_true_extent')
      import :: c_int64_t, packwright_type
      type(packwright_type), value :: type
      integer(c_int64_t), intent(out) :: true_lb, true_extent
    end subroutine

    function packwright_blocks(type) bind(c, name='packwright_blocks') result(blocks)
      import :: c_int64_t, packwright_type
      type(packwright_type), value :: type
      integer(c_int64_t) :: blocks
    end function

    function packwright_hash(type, hash) bind(c, name='packwright_hash') result(status)
      import :: c_int, c_int64_t, packwright_type
      type(packwright_type), value :: type
      integer(c_int64_t), intent(inout) :: hash(2)
      integer(c_int) :: status
    end function
  end interface
  public :: packwright_dup, packwright_size, packwright_extent, packwright_true_extent, packwright_blocks
  public :: packwright_hash

  public :: packwright_status_text, packwright_last_error, packwright_fail, packwright_version, packwright_configure
  public :: packwright_type_free, packwright_type_statistics
  public :: packwright_from_ddt, packwright_from_ddt_named, packwright_from_ir, packwright_text_of
  public :: packwright_address

  ! ---- functions for both kinds of integers ----------------------------------------------------------

  ! packwright_NAME is c_NAME of packwright.h for integers of kind c_int64_t, and NAME_i4 or NAME_i8 where something
  ! has to be converted.
  public :: packwright_bytes, packwright_contiguous, packwright_vector, packwright_hvector, packwright_indexed
  public :: packwright_hindexed, packwright_indexed_block, packwright_hindexed_block, packwright_struct
  public :: packwright_subarray, packwright_darray, packwright_resized, packwright_pack, packwright_unpack
  public :: packwright_pack_range, packwright_unpack_range, packwright_iovs, packwright_copy
  public :: packwright_pack_stream, packwright_unpack_stream, packwright_copy_stream

  interface packwright_bytes
    procedure :: bytes_i4, c_bytes
  end interface
  interface packwright_contiguous
    procedure :: contiguous_i4, c_contiguous
  end interface
  interface packwright_vector
    procedure :: vector_i4, c_vector
  end interface
  interface packwright_hvector
    procedure :: hvector_i4, c_hvector
  end interface
  interface packwright_indexed
    procedure :: indexed_i4, indexed_i8
  end interface
  interface packwright_hindexed
    procedure :: hindexed_i4, hindexed_i8
  end interface
  interface packwright_indexed_block
    procedure :: indexed_block_i4, indexed_block_i8
  end interface
  interface packwright_hindexed_block
    procedure :: hindexed_block_i4, hindexed_block_i8
  end interface
  interface packwright_struct
    procedure :: struct_i4, struct_i8
  end interface
  interface packwright_subarray
    procedure :: subarray_i4, subarray_i8
  end interface
  interface packwright_darray
    procedure :: darray_i4, darray_i8
  end interface
  interface packwright_resized
    procedure :: resized_i4, c_resized
  end interface
  interface packwright_pack
    procedure :: pack_i4, pack_i8
  end interface
  interface packwright_unpack
    procedure :: unpack_i4, unpack_i8
  end interface
  interface packwright_pack_range
    procedure :: pack_range_i4, pack_range_i8
  end interface
  interface packwright_unpack_range
    procedure :: unpack_range_i4, unpack_range_i8
  end interface
  interface packwright_iovs
    procedure :: iovs_i4, iovs_i8
  end interface
  interface packwright_copy
    procedure :: copy_i4, copy_i8
  end interface
  interface packwright_pack_stream
    procedure :: pack_stream_i4, c_pack_stream
  end interface
  interface packwright_copy_stream
    procedure :: copy_stream_i4, c_copy_stream
  end interface
  interface packwright_unpack_stream
    procedure :: unpack_stream_i4, c_unpack_stream
  end interface

  interface
    function c_bytes(bytes, align, out) bind(c, name='packwright_bytes') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: bytes, align
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_contiguous(count, old, out) bind(c, name='packwright_contiguous') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: count
      type(packwright_type), value :: old
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_vector(count, blocklength, stride, old, out) bind(c, name='packwright_vector') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: count, blocklength, stride
      type(packwright_type), value :: old
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_hvector(count, blocklength, stride_bytes, old, out) bind(c, name='packwright_hvector') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: count, blocklength, stride_bytes
      type(packwright_type), value :: old
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_indexed(n, blocklengths, displacements, old, out) bind(c, name='packwright_indexed') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: n
      integer(c_int64_t), intent(in) :: blocklengths(*), displacements(*)
      type(packwright_type), value :: old
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_hindexed(n, blocklengths, displacements_bytes, old, out) &
      bind(c, name='packwright_hindexed') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: n
      integer(c_int64_t), intent(in) :: blocklengths(*), displacements_bytes(*)
      type(packwright_type), value :: old
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_indexed_block(n, blocklength, displacements, old, out) &
      bind(c, name='packwright_indexed_block') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: n, blocklength
      integer(c_int64_t), intent(in) :: displacements(*)
      type(packwright_type), value :: old
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_hindexed_block(n, blocklength, displacements_bytes, old, out) &
      bind(c, name='packwright_hindexed_block') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: n, blocklength
      integer(c_int64_t), intent(in) :: displacements_bytes(*)
      type(packwright_type), value :: old
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_struct(n, blocklengths, displacements_bytes, olds, out) &
      bind(c, name='packwright_struct') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: n
      integer(c_int64_t), intent(in) :: blocklengths(*), displacements_bytes(*)
      type(packwright_type), intent(in) :: olds(*)
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_subarray(ndims, sizes, subsizes, starts, order, old, out) &
      bind(c, name='packwright_subarray') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: ndims
      integer(c_int64_t), intent(in) :: sizes(*), subsizes(*), starts(*)
      integer(c_int), value :: order
      type(packwright_type), value :: old
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_darray(processes, rank, ndims, gsizes, distributions, arguments, psizes, order, old, out) &
      bind(c, name='packwright_darray') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: processes, rank, ndims
      integer(c_int64_t), intent(in) :: gsizes(*), arguments(*), psizes(*)
      integer(c_int), intent(in) :: distributions(*)
      integer(c_int), value :: order
      type(packwright_type), value :: old
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_resized(lb, extent, old, out) bind(c, name='packwright_resized') result(status)
      import :: c_int, c_int64_t, packwright_type
      integer(c_int64_t), value :: lb, extent
      type(packwright_type), value :: old
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_pack(type, memory, count, packed) bind(c, name='packwright_pack') result(status)
      import :: c_int, c_int64_t, c_ptr, packwright_type
      type(packwright_type), value :: type
      type(c_ptr), value :: memory, packed
      integer(c_int64_t), value :: count
      integer(c_int) :: status
    end function

    function c_unpack(type, memory, count, packed) bind(c, name='packwright_unpack') result(status)
      import :: c_int, c_int64_t, c_ptr, packwright_type
      type(packwright_type), value :: type
      type(c_ptr), value :: memory, packed
      integer(c_int64_t), value :: count
      integer(c_int) :: status
    end function

    function c_pack_range(type, memory, count, first, last, packed) &
      bind(c, name='packwright_pack_range') result(status)
      import :: c_int, c_int64_t, c_ptr, packwright_type
      type(packwright_type), value :: type
      type(c_ptr), value :: memory, packed
      integer(c_int64_t), value :: count, first, last
      integer(c_int) :: status
    end function

    function c_unpack_range(type, memory, count, first, last, packed) &
      bind(c, name='packwright_unpack_range') result(status)
      import :: c_int, c_int64_t, c_ptr, packwright_type
      type(packwright_type), value :: type
      type(c_ptr), value :: memory, packed
      integer(c_int64_t), value :: count, first, last
      integer(c_int) :: status
    end function

    function c_iovs(type, memory, count, offset, max, iov, filled) bind(c, name='packwright_iovs') result(status)
      import :: c_int, c_int64_t, c_ptr, packwright_iov, packwright_type
      type(packwright_type), value :: type
      type(c_ptr), value :: memory
      integer(c_int64_t), value :: count, offset, max
      type(packwright_iov), intent(inout) :: iov(*)
      integer(c_int64_t), intent(inout) :: filled
      integer(c_int) :: status
    end function

    function c_copy(from_type, from, from_count, to_type, to, to_count) bind(c, name='packwright_copy') result(status)
      import :: c_int, c_int64_t, c_ptr, packwright_type
      type(packwright_type), value :: from_type, to_type
      type(c_ptr), value :: from, to
      integer(c_int64_t), value :: from_count, to_count
      integer(c_int) :: status
    end function

    function c_pack_stream(type, memory, count, packed, stream) bind(c, name='packwright_pack_stream') result(status)
      import :: c_int, c_int64_t, c_ptr, packwright_type
      type(packwright_type), value :: type
      type(c_ptr), value :: memory, packed, stream
      integer(c_int64_t), value :: count
      integer(c_int) :: status
    end function

    function c_unpack_stream(type, memory, count, packed, stream) &
      bind(c, name='packwright_unpack_stream') result(status)
      import :: c_int, c_int64_t, c_ptr, packwright_type
      type(packwright_type), value :: type
      type(c_ptr), value :: memory, packed, stream
      integer(c_int64_t), value :: count
      integer(c_int) :: status
    end function

    function c_copy_stream(from_type, from, from_count, to_type, to, to_count, stream) &
      bind(c, name='packwright_copy_stream') result(status)
      import :: c_int, c_int64_t, c_ptr, packwright_type
      type(packwright_type), value :: from_type, to_type
      type(c_ptr), value :: from, to, stream
      integer(c_int64_t), value :: from_count, to_count
      integer(c_int) :: status
    end function
  end interface

  ! ---- functions with texts and structs --------------------------------------------------------------

  interface
    function c_status_text(status) bind(c, name='packwright_status_text') result(text)
      import :: c_int, c_ptr
      integer(c_int), value :: status
      type(c_ptr) :: text
    end function

    function c_last_error() bind(c, name='packwright_last_error') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function

    function c_version() bind(c, name='packwright_version') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function

    function c_fail(status, text) bind(c, name='packwright_fail') result(same)
      import :: c_char, c_int
      integer(c_int), value :: status
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int) :: same
    end function

    function c_configure(options) bind(c, name='packwright_configure') result(status)
      import :: c_int, packwright_options
      type(packwright_options), intent(in) :: options
      integer(c_int) :: status
    end function

    subroutine c_type_free(type) bind(c, name='packwright_type_free')
      import :: packwright_type
      type(packwright_type), value :: type
    end subroutine

    function c_from_ddt(text, out) bind(c, name='packwright_from_ddt') result(status)
      import :: c_char, c_int, packwright_type
      character(kind=c_char), intent(in) :: text(*)
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_from_ddt_named(text, name, out) bind(c, name='packwright_from_ddt_named') result(status)
      import :: c_char, c_int, packwright_type
      character(kind=c_char), intent(in) :: text(*), name(*)
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_from_ir(text, out) bind(c, name='packwright_from_ir') result(status)
      import :: c_char, c_int, packwright_type
      character(kind=c_char), intent(in) :: text(*)
      type(packwright_type), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_text_of(type, form, out) bind(c, name='packwright_text_of') result(status)
      import :: c_int, c_ptr, packwright_type
      type(packwright_type), value :: type
      integer(c_int), value :: form
      type(c_ptr), intent(inout) :: out
      integer(c_int) :: status
    end function

    function c_type_statistics(type, out) bind(c, name='packwright_type_statistics') result(status)
      import :: c_int, packwright_statistics, packwright_type
      type(packwright_type), value :: type
      type(packwright_statistics), intent(inout) :: out
      integer(c_int) :: status
    end function

    ! Two functions of the C library:

    function c_strlen(text) bind(c, name='strlen') result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function

    subroutine c_free(memory) bind(c, name='free')
      import :: c_ptr
      type(c_ptr), value :: memory
    end subroutine
  end interface

contains

  ! ---- texts -----------------------------------------------------------------------------------------

  function string_of(address) result(string)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: string
    character(kind=c_char), pointer :: letters(:)
    integer :: i

    call c_f_pointer(address, letters, [c_strlen(address)])
    allocate (character(size(letters)) :: string)
    do i = 1, size(letters)
      string(i:i) = letters(i)
    end do
  end function

  function packwright_status_text(status) result(text)
    integer(c_int), intent(in) :: status
    character(:), allocatable :: text

    text = string_of(c_status_text(status))
  end function

  function packwright_last_error() result(text)
    character(:), allocatable :: text

    text = string_of(c_last_error())
  end function

  function packwright_fail(status, text) result(same)
    integer(c_int), intent(in) :: status
    character(*), intent(in) :: text
    integer(c_int) :: same

    same = c_fail(status, text//c_null_char)
  end function

  function packwright_version() result(text)
    character(:), allocatable :: text

    text = string_of(c_version())
  end function

  function packwright_from_ddt(text, out) result(status)
    character(*), intent(in) :: text
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_from_ddt(text//c_null_char, out)
  end function

  function packwright_from_ddt_named(text, name, out) result(status)
    character(*), intent(in) :: text, name
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_from_ddt_named(text//c_null_char, trim(name)//c_null_char, out)
  end function

  function packwright_from_ir(text, out) result(status)
    character(*), intent(in) :: text
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_from_ir(text//c_null_char, out)
  end function

  function packwright_text_of(type, form, text) result(status)
    type(packwright_type), intent(in) :: type
    integer(c_int), intent(in) :: form
    character(:), allocatable, intent(inout) :: text
    integer(c_int) :: status
    type(c_ptr) :: memory

    memory = c_null_ptr
    status = c_text_of(type, form, memory)
    if (status == PACKWRIGHT_OK) text = string_of(memory)
    call c_free(memory)
  end function

  ! ---- structs ---------------------------------------------------------------------------------------

  ! An argument that is absent leaves its field to the environment, as a zero does in C.
  function packwright_configure(jit, cache_dir, hot_bytes, statistics, quiet) result(status)
    integer(c_int), intent(in), optional :: jit
    character(*), intent(in), optional :: cache_dir
    integer(c_int64_t), intent(in), optional :: hot_bytes
    logical, intent(in), optional :: statistics, quiet
    integer(c_int) :: status
    character(:, kind=c_char), allocatable, target :: path
    type(packwright_options) :: options

    options = packwright_options(0, PACKWRIGHT_JIT_DEFAULT, c_null_ptr, 0, .false._c_bool, .false._c_bool)
    options%size = c_sizeof(options)
    if (present(jit)) options%jit = jit
    if (present(cache_dir)) then
      path = trim(cache_dir)//c_null_char
      options%cache_dir = c_loc(path)
    end if
    if (present(hot_bytes)) options%hot_bytes = hot_bytes
    if (present(statistics)) options%statistics = logical(statistics, c_bool)
    if (present(quiet)) options%quiet = logical(quiet, c_bool)
    status = c_configure(options)
  end function

  function packwright_type_statistics(type, out) result(status)
    type(packwright_type), intent(in) :: type
    type(packwright_statistics), intent(inout) :: out
    integer(c_int) :: status

    out%size = c_sizeof(out)
    status = c_type_statistics(type, out)
  end function

  subroutine packwright_type_free(type)
    type(packwright_type), intent(inout) :: type

    call c_type_free(type)
    type%address = c_null_ptr
  end subroutine

  function packwright_address(variable) result(address)
    type(*), dimension(..), target, intent(in) :: variable
    integer(c_int64_t) :: address

    address = transfer(c_loc(variable), address)
  end function

  ! ---- both kinds of integers ------------------------------------------------------------------------

  ! The length that lists of one call have in common. Lists of different lengths get -1, which the library reports as an
  ! invalid number of entries.
  function common_length(lengths) result(n)
    integer, intent(in) :: lengths(:)
    integer(c_int64_t) :: n

    n = merge(lengths(1), -1, all(lengths == lengths(1)))
  end function

  function bytes_i4(bytes, align, out) result(status)
    integer(c_int32_t), intent(in) :: bytes, align
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_bytes(int(bytes, c_int64_t), int(align, c_int64_t), out)
  end function

  function contiguous_i4(count, old, out) result(status)
    integer(c_int32_t), intent(in) :: count
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_contiguous(int(count, c_int64_t), old, out)
  end function

  function vector_i4(count, blocklength, stride, old, out) result(status)
    integer(c_int32_t), intent(in) :: count, blocklength, stride
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_vector(int(count, c_int64_t), int(blocklength, c_int64_t), int(stride, c_int64_t), old, out)
  end function

  function hvector_i4(count, blocklength, stride_bytes, old, out) result(status)
    integer(c_int32_t), intent(in) :: count, blocklength, stride_bytes
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_hvector(int(count, c_int64_t), int(blocklength, c_int64_t), int(stride_bytes, c_int64_t), old, out)
  end function

  function indexed_i8(blocklengths, displacements, old, out) result(status)
    integer(c_int64_t), intent(in) :: blocklengths(:), displacements(:)
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_indexed(common_length([size(blocklengths), size(displacements)]), blocklengths, displacements, old, out)
  end function

  function indexed_i4(blocklengths, displacements, old, out) result(status)
    integer(c_int32_t), intent(in) :: blocklengths(:), displacements(:)
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = packwright_indexed(int(blocklengths, c_int64_t), int(displacements, c_int64_t), old, out)
  end function

  function hindexed_i8(blocklengths, displacements_bytes, old, out) result(status)
    integer(c_int64_t), intent(in) :: blocklengths(:), displacements_bytes(:)
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_hindexed(common_length([size(blocklengths), size(displacements_bytes)]), blocklengths, &
      displacements_bytes, old, out)
  end function

  function hindexed_i4(blocklengths, displacements_bytes, old, out) result(status)
    integer(c_int32_t), intent(in) :: blocklengths(:), displacements_bytes(:)
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = packwright_hindexed(int(blocklengths, c_int64_t), int(displacements_bytes, c_int64_t), old, out)
  end function

  function indexed_block_i8(blocklength, displacements, old, out) result(status)
    integer(c_int64_t), intent(in) :: blocklength, displacements(:)
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_indexed_block(size(displacements, kind=c_int64_t), blocklength, displacements, old, out)
  end function

  function indexed_block_i4(blocklength, displacements, old, out) result(status)
    integer(c_int32_t), intent(in) :: blocklength, displacements(:)
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = packwright_indexed_block(int(blocklength, c_int64_t), int(displacements, c_int64_t), old, out)
  end function

  function hindexed_block_i8(blocklength, displacements_bytes, old, out) result(status)
    integer(c_int64_t), intent(in) :: blocklength, displacements_bytes(:)
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_hindexed_block(size(displacements_bytes, kind=c_int64_t), blocklength, displacements_bytes, old, out)
  end function

  function hindexed_block_i4(blocklength, displacements_bytes, old, out) result(status)
    integer(c_int32_t), intent(in) :: blocklength, displacements_bytes(:)
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = packwright_hindexed_block(int(blocklength, c_int64_t), int(displacements_bytes, c_int64_t), old, out)
  end function

  function struct_i8(blocklengths, displacements_bytes, olds, out) result(status)
    integer(c_int64_t), intent(in) :: blocklengths(:), displacements_bytes(:)
    type(packwright_type), intent(in) :: olds(:)
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_struct(common_length([size(blocklengths), size(displacements_bytes), size(olds)]), blocklengths, &
      displacements_bytes, olds, out)
  end function

  function struct_i4(blocklengths, displacements_bytes, olds, out) result(status)
    integer(c_int32_t), intent(in) :: blocklengths(:), displacements_bytes(:)
    type(packwright_type), intent(in) :: olds(:)
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = packwright_struct(int(blocklengths, c_int64_t), int(displacements_bytes, c_int64_t), olds, out)
  end function

  function subarray_i8(sizes, subsizes, starts, order, old, out) result(status)
    integer(c_int64_t), intent(in) :: sizes(:), subsizes(:), starts(:)
    integer(c_int), intent(in) :: order
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_subarray(common_length([size(sizes), size(subsizes), size(starts)]), sizes, subsizes, starts, order, &
      old, out)
  end function

  function subarray_i4(sizes, subsizes, starts, order, old, out) result(status)
    integer(c_int32_t), intent(in) :: sizes(:), subsizes(:), starts(:)
    integer(c_int), intent(in) :: order
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = packwright_subarray(int(sizes, c_int64_t), int(subsizes, c_int64_t), int(starts, c_int64_t), order, &
      old, out)
  end function

  function darray_i8(processes, rank, gsizes, distributions, arguments, psizes, order, old, out) result(status)
    integer(c_int64_t), intent(in) :: processes, rank, gsizes(:), arguments(:), psizes(:)
    integer(c_int), intent(in) :: distributions(:), order
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_darray(processes, rank, &
      common_length([size(gsizes), size(arguments), size(psizes), size(distributions)]), &
      gsizes, distributions, arguments, psizes, order, old, out)
  end function

  function darray_i4(processes, rank, gsizes, distributions, arguments, psizes, order, old, out) result(status)
    integer(c_int32_t), intent(in) :: processes, rank, gsizes(:), arguments(:), psizes(:)
    integer(c_int), intent(in) :: distributions(:), order
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = packwright_darray(int(processes, c_int64_t), int(rank, c_int64_t), int(gsizes, c_int64_t), distributions, &
      int(arguments, c_int64_t), int(psizes, c_int64_t), order, old, out)
  end function

  function resized_i4(lb, extent, old, out) result(status)
    integer(c_int32_t), intent(in) :: lb, extent
    type(packwright_type), intent(in) :: old
    type(packwright_type), intent(inout) :: out
    integer(c_int) :: status

    status = c_resized(int(lb, c_int64_t), int(extent, c_int64_t), old, out)
  end function

  function pack_i8(type, memory, count, packed) result(status)
    type(packwright_type), intent(in) :: type
    type(*), dimension(..), target, intent(in) :: memory
    integer(c_int64_t), intent(in) :: count
    type(*), dimension(..), target, intent(inout) :: packed
    integer(c_int) :: status

    status = c_pack(type, c_loc(memory), count, c_loc(packed))
  end function

  function pack_i4(type, memory, count, packed) result(status)
    type(packwright_type), intent(in) :: type
    type(*), dimension(..), target, intent(in) :: memory
    integer(c_int32_t), intent(in) :: count
    type(*), dimension(..), target, intent(inout) :: packed
    integer(c_int) :: status

    status = packwright_pack(type, memory, int(count, c_int64_t), packed)
  end function

  function unpack_i8(type, memory, count, packed) result(status)
    type(packwright_type), intent(in) :: type
    type(*), dimension(..), target, intent(inout) :: memory
    integer(c_int64_t), intent(in) :: count
    type(*), dimension(..), target, intent(in) :: packed
    integer(c_int) :: status

    status = c_unpack(type, c_loc(memory), count, c_loc(packed))
  end function

  function unpack_i4(type, memory, count, packed) result(status)
    type(packwright_type), intent(in) :: type
    type(*), dimension(..), target, intent(inout) :: memory
    integer(c_int32_t), intent(in) :: count
    type(*), dimension(..), target, intent(in) :: packed
    integer(c_int) :: status

    status = packwright_unpack(type, memory, int(count, c_int64_t), packed)
  end function

  function pack_range_i8(type, memory, count, first, last, packed) result(status)
    type(packwright_type), intent(in) :: type
    type(*), dimension(..), target, intent(in) :: memory
    integer(c_int64_t), intent(in) :: count, first, last
    type(*), dimension(..), target, intent(inout) :: packed
    integer(c_int) :: status

    status = c_pack_range(type, c_loc(memory), count, first, last, c_loc(packed))
  end function

  function pack_range_i4(type, memory, count, first, last, packed) result(status)
    type(packwright_type), intent(in) :: type
    type(*), dimension(..), target, intent(in) :: memory
    integer(c_int32_t), intent(in) :: count, first, last
    type(*), dimension(..), target, intent(inout) :: packed
    integer(c_int) :: status

    status = packwright_pack_range(type, memory, int(count, c_int64_t), int(first, c_int64_t), int(last, &
      c_int64_t), packed)
  end function

  function unpack_range_i8(type, memory, count, first, last, packed) result(status)
    type(packwright_type), intent(in) :: type
    type(*), dimension(..), target, intent(inout) :: memory
    integer(c_int64_t), intent(in) :: count, first, last
    type(*), dimension(..), target, intent(in) :: packed
    integer(c_int) :: status

    status = c_unpack_range(type, c_loc(memory), count, first, last, c_loc(packed))
  end function

  function unpack_range_i4(type, memory, count, first, last, packed) result(status)
    type(packwright_type), intent(in) :: type
    type(*), dimension(..), target, intent(inout) :: memory
    integer(c_int32_t), intent(in) :: count, first, last
    type(*), dimension(..), target, intent(in) :: packed
    integer(c_int) :: status

    status = packwright_unpack_range(type, memory, int(count, c_int64_t), int(first, c_int64_t), int(last, &
      c_int64_t), packed)
  end function

  function iovs_i8(type, memory, count, offset, iov, filled) result(status)
    type(packwright_type), intent(in) :: type
    type(*), dimension(..), target, intent(in) :: memory
    integer(c_int64_t), intent(in) :: count, offset
    type(packwright_iov), intent(inout) :: iov(:)
    integer(c_int64_t), intent(inout) :: filled
    integer(c_int) :: status

    status = c_iovs(type, c_loc(memory), count, offset, size(iov, kind=c_int64_t), iov, filled)
  end function

  function iovs_i4(type, memory, count, offset, iov, filled) result(status)
    type(packwright_type), intent(in) :: type
    type(*), dimension(..), target, intent(in) :: memory
    integer(c_int32_t), intent(in) :: count, offset
    type(packwright_iov), intent(inout) :: iov(:)
    integer(c_int32_t), intent(inout) :: filled
    integer(c_int) :: status
    integer(c_int64_t) :: filled_i8

    filled_i8 = filled
    status = packwright_iovs(type, memory, int(count, c_int64_t), int(offset, c_int64_t), iov, filled_i8)
    filled = int(filled_i8, c_int32_t)
  end function

  function copy_i8(from_type, from, from_count, to_type, to, to_count) result(status)
    type(packwright_type), intent(in) :: from_type, to_type
    type(*), dimension(..), target, intent(in) :: from
    integer(c_int64_t), intent(in) :: from_count, to_count
    type(*), dimension(..), target, intent(inout) :: to
    integer(c_int) :: status

    status = c_copy(from_type, c_loc(from), from_count, to_type, c_loc(to), to_count)
  end function

  function copy_i4(from_type, from, from_count, to_type, to, to_count) result(status)
    type(packwright_type), intent(in) :: from_type, to_type
    type(*), dimension(..), target, intent(in) :: from
    integer(c_int32_t), intent(in) :: from_count, to_count
    type(*), dimension(..), target, intent(inout) :: to
    integer(c_int) :: status

    status = packwright_copy(from_type, from, int(from_count, c_int64_t), to_type, to, int(to_count, c_int64_t))
  end function

  function pack_stream_i4(type, memory, count, packed, stream) result(status)
    type(packwright_type), intent(in) :: type
    type(c_ptr), intent(in) :: memory, packed, stream
    integer(c_int32_t), intent(in) :: count
    integer(c_int) :: status

    status = c_pack_stream(type, memory, int(count, c_int64_t), packed, stream)
  end function

  function unpack_stream_i4(type, memory, count, packed, stream) result(status)
    type(packwright_type), intent(in) :: type
    type(c_ptr), intent(in) :: memory, packed, stream
    integer(c_int32_t), intent(in) :: count
    integer(c_int) :: status

    status = c_unpack_stream(type, memory, int(count, c_int64_t), packed, stream)
  end function

  function copy_stream_i4(from_type, from, from_count, to_type, to, to_count, stream) result(status)
    type(packwright_type), intent(in) :: from_type, to_type
    type(c_ptr), intent(in) :: from, to, stream
    integer(c_int32_t), intent(in) :: from_count, to_count
    integer(c_int) :: status

    status = c_copy_stream(from_type, from, int(from_count, c_int64_t), to_type, to, int(to_count, c_int64_t), stream)
  end function
end module packwright
